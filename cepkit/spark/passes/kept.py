"""Data of a Spark stream kept in this process until `forget()`: counts, a sample, events."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from cepkit.spark.passes.part import Part, Types
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.passes.sample import Sample
from cepkit.spark.passes.type_counts import TypeCounts, count_types
from cepkit.stream.stream import Stream


@dataclass(eq=False, slots=True)
class Kept:
    """The results of earlier jobs over a DataFrame.

    Attributes:
        part: The events that were fetched; None: nothing was small enough.
        types: Those of its events.
        refused: The requests that were too large: columns, types, and the limit.
        counts: The rows, counted by type.
        sample: A sample of the events.
        same_key: The share of pairs of events in one partition, by its columns.
    """

    part: Part | None = None
    types: Types = None
    refused: set[tuple[tuple[str, ...], Types, int]] = field(default_factory=set)
    counts: TypeCounts | None = None
    sample: Sample | None = None
    same_key: dict[tuple[str, ...], float] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        size = 0 if self.sample is None else self.sample.table.nbytes
        return size if self.part is None else size + self.part.source.nbytes + self.part.kept.size

    def has(self, columns: Collection[str], types: Types, *, in_order: bool) -> bool:
        """Return whether the part has some columns of all events of some types.

        Args:
            in_order: Whether the rows must be in Spark's order.
        """
        return (
            self.part is not None
            and (self.part.in_order or not in_order)
            and set(columns) <= set(self.part.column_names)
            and (self.types is None or (types is not None and types <= self.types))
        )


def kept_of(stream: Stream) -> Kept:
    """Return the kept data of a stream."""
    kept: Kept = stream.kept.fetched or Kept()
    stream.kept.fetched = kept
    return kept


def counted(stream: Stream, wide: Collection[str] = ()) -> TypeCounts:
    """Return the rows of a stream by type; unless they are kept, a job counts them.

    Args:
        wide: Columns of variable width whose bytes are needed.
    """
    kept = kept_of(stream)
    known = {} if kept.counts is None else kept.counts.bytes
    if kept.counts is None or not set(wide) <= set(known):
        columns = tuple(dict.fromkeys((*known, *wide)))
        kept.counts = count_types(StreamRows(stream), columns)
    return kept.counts
