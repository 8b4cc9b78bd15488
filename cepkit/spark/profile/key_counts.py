"""Counts of keys and equal keys of a Spark stream, in one pass.

Each event is unpivoted into one row for each key of the pattern; rows are counted by key, for each
variable those of its types. The workers then multiply the counts of the two variables of an
equality, key by key, and return sums and the most frequent keys. Keys are sent as texts, spelled
alike for attributes that are compared with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.spark.passes.rows import key_value
from cepkit.spark.profile.source import Source
from cepkit.statistics.keys import Frequent, KeyCounts, key_counts, most_frequent
from cepkit.statistics.links import KeySource, Link, key_sources, links_in
from cepkit.statistics.stream_counts import share_of_pairs, types_of_variables
from cepkit.stream.columns import Column as Values
from cepkit.stream.columns import Kind
from cepkit.stream.reading.ingest import attribute
from cepkit.stream.schema import Schema

Counts = npt.NDArray[np.int64]
Kinds = tuple[Kind, ...]

_SUMS = "what string, id int, number string, order array<double>, labels array<string>"
_ARROW: Mapping[Kind, pa.DataType] = {
    "integer": pa.int64(),
    "timestamp": pa.int64(),
    "duration": pa.int64(),
    "float": pa.float64(),
    "null": pa.float64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
}


_OF_LINKS = ("first", "second", "both", "equal", "itself")


@dataclass(frozen=True, slots=True)
class _Places:
    """The positions of the counted columns, as workers need them.

    Attributes:
        kinds: The kinds of the attributes of each key, for comparison.
        missing_agree: For each key whether missing values are one.
        family: For each key the number of the group that it is compared with.
        links: For each link the numbers of the keys of its two variables.
        schema: Knows the time zone.
    """

    kinds: tuple[Kinds, ...]
    missing_agree: tuple[bool, ...]
    family: tuple[int, ...]
    links: tuple[tuple[int, int], ...]
    schema: Schema


@dataclass(frozen=True, slots=True)
class KeyCounter:
    """Counts the keys of a stream, and the pairs with equal keys.

    Attributes:
        written: For each type its values in the type column.
        kinds: The kinds of the attributes.
        keys: The lists of attributes that are keys; may be empty.
        links: The links between variables.
    """

    source: Source
    written: Mapping[str, Sequence[Any]]
    kinds: Mapping[str, Kind]
    keys: tuple[KeySource, ...]
    links: tuple[Link, ...]

    @classmethod
    def of(
        cls, source: Source, written: Mapping[str, Sequence[Any]], kinds: Mapping[str, Kind]
    ) -> KeyCounter:
        """Return the counter for the keys of a query."""
        # Lists cannot be keys, and Spark would misread times written as texts.
        time = source.schema.time
        left_out = {name for name, kind in kinds.items() if kind == "array"}
        left_out |= {time} if isinstance(source.kind(time), t.StringType) else set()
        links = tuple(
            link
            for link in links_in(source.query, kinds).values()
            if left_out.isdisjoint(name for pair in link.attributes for name in pair)
        )
        keys = key_sources(source.query, links)
        keys = tuple(key for key in keys if left_out.isdisjoint(key.attributes))
        return cls(source, written, kinds, keys, links)

    def counted(self, table: pa.Table) -> tuple[tuple[KeyCounts, ...], dict[frozenset[str], float]]:
        """Return how often keys occur, and for each link the share of pairs with equal keys.

        Args:
            table: The result of `frame`.
        """
        sums: dict[tuple[str, int], int] = {}
        frequent: dict[int, list[Frequent]] = {}
        for row in table.to_pylist():
            what, i, number = row["what"], row["id"], int(row["number"])
            if what == "frequent":
                key = Frequent(number, tuple(row["order"]), tuple(row["labels"]))
                frequent.setdefault(i, []).append(key)
            else:
                sums[what, i] = sums.get((what, i), 0) + number
        shares = {}
        for i, link in enumerate(self.links):
            first, second, both, equal, itself = (sums.get((what, i), 0) for what in _OF_LINKS)
            shares[link.variables] = share_of_pairs(equal - itself, first * second - both)
        keys = (
            key_counts(
                key.attributes,
                sums.get(("events", i), 0),
                sums.get(("distinct", i), 0),
                frequent.get(i, ()),
            )
            for i, key in enumerate(self.keys)
        )
        return tuple(keys), shares

    @property
    def frame(self) -> DataFrame:
        """The DataFrame to run, if there are keys."""
        places = self._places()
        variables = sorted({variable for key in self.keys for variable in key.variables})
        rows = self.source.rows.where(self.source.is_event)
        rows = rows.where(self._has(frozenset(variables)))
        unpivoted = [
            F.struct(
                F.lit(i).alias("source"),
                F.lit(places.family[i]).alias("family"),
                self._key(key.attributes, places.kinds[i]).alias("key"),
            )
            for i, key in enumerate(self.keys)
        ]
        rows = rows.select(
            F.explode(F.array(*unpivoted)).alias("one"),
            *(self._has(frozenset((v,))).alias(f"is_{i}") for i, v in enumerate(variables)),
            *(self._same(link, places, i).alias(f"same_{i}") for i, link in enumerate(self.links)),
        )
        has = {variable: F.col(f"is_{i}") for i, variable in enumerate(variables)}
        counted = rows.groupBy(
            F.col("one.family").alias("family"), F.col("one.key").alias("key")
        ).agg(*self._counts(places, has))
        return counted.mapInArrow(_summing(places), _SUMS)

    def _has(self, variables: frozenset[str]) -> Column:
        types = types_of_variables(self.source.query, variables)
        return self.source.has(types, self.written)

    def _places(self) -> _Places:
        at = {key.attributes: i for i, key in enumerate(self.keys)}
        links = tuple((at[k.of(k.first)], at[k.of(k.second)]) for k in self.links)
        family = list(range(len(self.keys)))
        for one, other in links:
            family = [family[one] if f == family[other] else f for f in family]
        kinds: list[Kinds] = []
        for number in family:
            members = [k.attributes for k, f in zip(self.keys, family, strict=True) if f == number]
            kinds.append(tuple(map(self._common, zip(*members, strict=True))))
        agree = tuple(key.missing_agree for key in self.keys)
        return _Places(tuple(kinds), agree, tuple(family), links, self.source.schema)

    def _common(self, names: Sequence[str]) -> Kind:
        """Return the common kind of attributes that are compared with each other."""
        kinds = {self.kinds[name] for name in names} - {"null"}
        return "float" if len(kinds) != 1 else kinds.pop()

    def _key(self, attributes: Sequence[str], kinds: Kinds) -> Column:
        return F.array(*map(self._text, attributes, kinds))

    def _text(self, name: str, kind: Kind) -> Column:
        """Return the canonical text of an attribute's value."""
        column = key_value(
            F.col(self.source.place(name)), name, self.source.kind(name), self.source.schema
        )
        return (column.cast("double") if kind == "float" else column).cast("string")

    def _same(self, link: Link, places: _Places, number: int) -> Column:
        """Return whether an event agrees with itself."""
        one, other = places.links[number]
        if one == other:
            return F.lit(True)
        ends = (link.of(link.first), link.of(link.second))
        missing = reduce(Column.__or__, (self.source.any_missing(names) for names in ends))
        keys = (self._key(names, places.kinds[one]) for names in ends)
        return ~missing & (next(keys) == next(keys))

    def _counts(self, places: _Places, has: Mapping[str, Column]) -> list[Column]:
        source = F.col("one.source")
        counts = []
        for i, key in enumerate(self.keys):
            fitting = reduce(Column.__or__, (has[v] for v in sorted(key.variables)))
            counts.append(F.count_if((source == i) & fitting).alias(f"events_{i}"))
        for i, link in enumerate(self.links):
            one, other = places.links[i]
            first, second = has[link.first], has[link.second]
            both = (source == one) & first & second
            counts += [
                F.count_if((source == one) & first).alias(f"first_{i}"),
                F.count_if((source == other) & second).alias(f"second_{i}"),
                F.count_if(both).alias(f"both_{i}"),
                F.count_if(both & F.col(f"same_{i}")).alias(f"itself_{i}"),
            ]
        return counts


def _summing(places: _Places) -> Any:
    """Return the function that a worker runs on counted keys."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sums: dict[tuple[str, int], int] = {}
        rows: list[tuple[Any, ...]] = []
        for batch in batches:
            _add_keys(places, batch, sums, rows)
            _add_links(places, batch, sums)
        rows += [(what, i, str(number), None, None) for (what, i), number in sums.items()]
        names = [part.split()[0] for part in _SUMS.split(", ")]
        kinds = [pa.string(), pa.int32(), pa.string()]
        kinds += [pa.list_(pa.float64()), pa.list_(pa.string())]
        columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
        arrays = [pa.array(list(c), kind) for c, kind in zip(columns, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)

    return run


def _add(sums: dict[tuple[str, int], int], what: str, i: int, number: int) -> None:
    sums[what, i] = sums.get((what, i), 0) + number


def _numbers(batch: pa.RecordBatch, name: str) -> Counts:
    return np.asarray(batch.column(name), dtype=np.int64)


def _present(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Return whether no value of a key is missing."""
    keys = batch.column("key")
    offsets = np.asarray(keys.offsets) - keys.offsets[0].as_py()
    absent = np.asarray(pc.is_null(keys.flatten())).astype(np.int64)
    before = np.concatenate(([0], np.cumsum(absent)))
    return np.asarray(before[offsets[1:]] == before[offsets[:-1]])


def _add_keys(
    places: _Places,
    batch: pa.RecordBatch,
    sums: dict[tuple[str, int], int],
    rows: list[tuple[Any, ...]],
) -> None:
    present = _present(batch)
    for i, kinds in enumerate(places.kinds):
        numbers = _numbers(batch, f"events_{i}")
        mask = (numbers > 0) & (present | places.missing_agree[i])
        numbers = numbers[mask]
        _add(sums, "events", i, int(numbers.sum()))
        _add(sums, "distinct", i, len(numbers))
        if not len(numbers):
            continue
        keys = batch.column("key").filter(pa.array(mask))
        columns = [
            _values(pc.list_element(keys, j), kind, places.schema) for j, kind in enumerate(kinds)
        ]
        rows += [
            ("frequent", i, str(key.number), list(key.order), list(key.labels))
            for key in most_frequent(columns, numbers)
        ]


def _values(texts: pa.Array, kind: Kind, schema: Schema) -> Values:
    """Convert values sent as texts back to the form of conditions."""
    values = texts.cast(_ARROW[kind])
    if kind == "timestamp":
        values = values.cast(pa.timestamp("us", "UTC"))
    if kind == "duration":
        values = values.cast(pa.duration("us"))
    return attribute(values, "key", schema)


def _add_links(places: _Places, batch: pa.RecordBatch, sums: dict[tuple[str, int], int]) -> None:
    present = _present(batch)
    for i in range(len(places.links)):
        first, second = _numbers(batch, f"first_{i}"), _numbers(batch, f"second_{i}")
        _add(sums, "first", i, int(first.sum()))
        _add(sums, "second", i, int(second.sum()))
        _add(sums, "both", i, int(_numbers(batch, f"both_{i}").sum()))
        _add(sums, "itself", i, int(_numbers(batch, f"itself_{i}")[present].sum()))
        some = present & (first > 0) & (second > 0)
        # Python integers: products of counts may exceed 64 bits.
        products = first[some].astype(object) * second[some].astype(object)
        _add(sums, "equal", i, int(products.sum()) if some.any() else 0)
