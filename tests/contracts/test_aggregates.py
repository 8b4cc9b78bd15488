"""The contract of aggregates; its tests run for every entry of the shelf, by every method.

A new one is taken in by its entry on the shelf and by its meaning for the judge, which is said once
more in `tests/aggregates.py`. The judge lists the matches and takes the values of all of them.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from decimal import Decimal
from functools import cache
from math import inf, nan
from typing import Any, get_args
from unittest import mock

import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.aggregation.methods import running
from cepkit.aggregation.sequence.elements import Method
from cepkit.errors import PatternError
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from cepkit.routes import detected
from cepkit.routes.ways import EMITS
from tests.aggregates import Row, meaning, rows_in, rows_of
from tests.judge import Event

pytestmark = pytest.mark.slow  # 20 s of the processor, and as much to compile

NAME = pytest.mark.parametrize("name", AGGREGATES)
OWN_METHODS: tuple[str, ...] = get_args(Method)
METHOD = pytest.mark.parametrize("method", [*OWN_METHODS, "auto", "detect"])
TOP = 2**63 - 1

COLUMNS: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "few": (pa.int64(), (3, None, -1, 4, 1, 7, None, 5, 9, -2, 6, 2, 8)),
    "wide": (pa.int64(), (0, TOP, -TOP, 2**62, TOP, 1, TOP, None, 2**53, -(2**62), -1, 9, TOP)),
    "far": (pa.int64(), tuple(2**53 + i for i in (1, 2, 4, 3, 9, 7, 5, 0, 6, 8, 2, 1, 3))),
    "absent": (pa.int64(), (None,) * 13),
    "float": (
        pa.float64(),
        (0.5, nan, -1.25, 40.25, None, 3.0, -0.0, 1e-3, 7.0, 2.5, 0.125, nan, 1.0),
    ),
    "shifted": (pa.float64(), tuple(1e9 + i for i in (1, 3, 8, 2, 5, 4, 7, 6, 9, 0, 3, 2, 1))),
    "infinite": (
        pa.float64(),
        (inf, 1.0, -inf, 2.0, nan, 3.0, 5.0, 0.0, inf, 1.0, 2.0, 4.0, -inf),
    ),
    "text": (
        pa.string(),
        ("b", "", None, "é", "a", "B", "bb", "a", "c", None, "aa", "ab", ""),
    ),
    "truth": (pa.bool_(), (True, None, False, *(True, True, False, None) * 2, True, False)),
    "time": (pa.timestamp("us"), (5, None, -7, 2**55, 0, 1, 2, None, 4, 5, 3, -1, 8)),
    "span": (pa.duration("us"), (5, None, -7, 2**55, 0, 1, 2, None, 4, 5, 3, -1, 8)),
}
"""The values that are aggregated, in the order of rows."""
KINDS = {
    "numbers": ("few", "wide", "far", "absent", "float", "shifted", "infinite"),
    "ordered": ("text", "truth", "time", "span"),
}
WHOLE, OTHERS = KINDS["numbers"][:4], (*KINDS["numbers"][4:], *KINDS["ordered"])

STREAMS = {
    # The first B and the last A are in no match; some events have one time.
    "matches": "B1 A2 A3 B4 A4 A5 B6 C7 B7 B8 C9 C10 A12",
    "no match": "C1 B2 B3 A4 A5 A6 C6 C7 A8 A9",
    "empty": "",
}
KEYS = (1, 1, 1, 1, 2, None, 1, 1, None, 2, 2, None, 1)
"""Each group has matches, that of null too."""
PATTERNS = {
    "pair": "SEQ(A a, B b)%s WITHIN 4 s",
    "exclusive": "SEQ(A a, B b)%s WITHIN 2 s EXCLUSIVE",
    "three": "SEQ(A a, B b, C c)%s WITHIN 6 s",
    "absence": "SEQ(A a, NOT(A n), B b)%s WITHIN 5 s",
    "no window": "SEQ(A a, B b)%s",
    "single": "B b%s WITHIN 3 s",
    "set": "SEQ(A a, KL(B b))%s WITHIN 6 s",
    "set first": "SEQ(A x, NOT(C n), KL(A a), B b)%s WITHIN 6 s",
    "sets": "SEQ(KL(A a), KL(B b), C c)%s",
    "bounded set": "SEQ(A a, KL(B b){1,2})%s WITHIN 6 s",
    "choice": "OR(SEQ(A a, B b), C c)%s WITHIN 3 s",
}
NO_SEQUENCE = ("bounded set", "choice")
"""What is not a sequence: only detection counts it."""
PARTS = ("", "GROUP BY k", "PARTITION BY k")

Shape = tuple[str, str, str]
SHAPES: list[Shape] = [
    *(("pair", emit, "") for emit in EMITS),
    *(("three", emit, "GROUP BY k") for emit in EMITS),
    *(("set", emit, "") for emit in EMITS),
    *((p, EMITS[i % 4], PARTS[i % 3]) for i, p in enumerate(PATTERNS, 1)),
    ("pair", "trigger", "PARTITION BY k"),
]
"""Patterns, the kind of rows, and the part of the stream, each in combinations with the others."""


@cache
def stream(of: str) -> ck.api.Stream:
    words = STREAMS[of].split()
    columns = {
        "ts": pa.array([int(word[1:]) * 10**6 for word in words], pa.timestamp("us")),
        "kind": pa.array([word[0] for word in words], pa.string()),
        "k": pa.array(KEYS[: len(words)], pa.int64()),
    }
    columns |= {name: pa.array(v[: len(words)], type_) for name, (type_, v) in COLUMNS.items()}
    return ck.events(pa.table(columns), time="ts", type="kind")


@cache
def as_judged(of: str) -> tuple[Event, ...]:
    return tuple(
        Event(
            int(word[1:]) * 10**6,
            word[0],
            {"k": KEYS[i]} | {name: values[i] for name, (_, values) in COLUMNS.items()},
            i,
        )
        for i, word in enumerate(STREAMS[of].split())
    )


@cache
def query(name: str, columns: Iterable[str], pattern: str, part: str) -> Query:
    """Return a query that aggregates columns of the first and of the last event of a match."""
    structure = PATTERNS[pattern]
    variables = [v for v in "ab" if f" {v}" in structure]
    taken = [c for c in columns if c in KINDS["numbers"] or takes_anything_ordered(name)]
    aggregates = ["COUNT", *(f"{name}({v}.{column})" for v in variables for column in taken)]
    partition, group = (f" {part}", "") if part.startswith("PARTITION") else ("", part)
    return parse(f"PATTERN {structure % partition} AGG {', '.join(aggregates)} {group}")


def takes_anything_ordered(name: str) -> bool:
    return AGGREGATES[name].takes in ("anything", "ordered")


def comparable(item: Any) -> Any:
    """Return a value with one form for equal results: floats of ten digits, None if missing."""
    match item:
        case Decimal():
            return int(item)
        case timedelta():
            return item // timedelta(microseconds=1)
        case float() if math.isfinite(item):
            return float(f"{item:.9e}") if abs(item) > 1e-6 else 0.0
        case float() if math.isnan(item):
            return None
        case _:
            return item


@cache
def expected(name: str, of: str, columns: tuple[str, ...], shape: Shape) -> Counter[Row]:
    pattern, emit, part = shape
    rows = rows_of(query(name, columns, pattern, part), as_judged(of), emit)
    return Counter(tuple(map(comparable, row)) for row in rows)


def found(name: str, of: str, columns: tuple[str, ...], shape: Shape, method: str) -> Counter[Row]:
    pattern, emit, part = shape
    asked = query(name, columns, pattern, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an empty stream
        result = ck.aggregate(stream(of), asked, method=method, emit=emit)
    return rows_in(result.to_arrow(), asked, comparable)


@METHOD
def test_count_alone_is_the_number_of_the_judges_matches(method: str) -> None:
    for shape in SHAPES:
        if method in OWN_METHODS and shape[0] in NO_SEQUENCE:
            continue
        rows = found("count", "matches", (), shape, method)
        assert rows == expected("count", "matches", (), shape), shape


@METHOD
@NAME
@pytest.mark.parametrize("columns", [WHOLE, OTHERS], ids=["whole", "others"])
def test_method_gives_the_aggregates_of_the_judges_matches(
    columns: tuple[str, ...], name: str, method: str
) -> None:
    for shape in SHAPES:
        if method in OWN_METHODS and shape[0] in NO_SEQUENCE:
            continue
        assert found(name, "matches", columns, shape, method) == expected(
            name, "matches", columns, shape
        ), shape


@contextmanager
def by(way: str) -> Iterator[None]:
    """Aggregate in Python, as a user's functions, by remainders, or with matches merged early."""
    with ExitStack() as patches:
        match way:
            case "elements":
                for module in (running, detected):
                    patches.enter_context(mock.patch.object(module, "lanes_of", return_value=None))
            case "remainders":
                patches.enter_context(mock.patch.object(running, "SAFE", 0.0))
            case "merged":
                patches.enter_context(mock.patch.object(detected, "_MERGED", 1))
        yield


@pytest.mark.parametrize(
    ("way", "method"),
    [
        ("elements", "prefix-counters"),
        ("elements", "window-product"),
        ("elements", "detect"),
        ("remainders", "prefix-counters"),
        ("remainders", "window-product"),
        ("merged", "detect"),
    ],
)
@NAME
def test_other_ways_of_a_method_give_the_same(name: str, way: str, method: str) -> None:
    for emit in EMITS:
        for columns in (WHOLE, OTHERS):
            shape = ("three", emit, "GROUP BY k")
            with by(way):
                rows = found(name, "matches", columns, shape, method)
            assert rows == expected(name, "matches", columns, shape), (shape, columns)


@METHOD
@NAME
@pytest.mark.parametrize("of", ["no match", "empty"])
def test_stream_without_matches_has_the_aggregates_of_no_values(
    of: str, name: str, method: str
) -> None:
    shapes = [*(("pair", emit, "") for emit in EMITS), *(("pair", "total", p) for p in PARTS[1:])]
    for shape in shapes:
        rows = found(name, of, WHOLE, shape, method)
        assert rows == expected(name, of, WHOLE, shape), shape
    (total,) = found(name, of, WHOLE, ("pair", "total", ""), method)
    assert total[3] == meaning(name, ()) == AGGREGATES[name].of(())


@METHOD
@NAME
def test_values_that_it_does_not_take_are_refused(name: str, method: str) -> None:
    if AGGREGATES[name].takes in ("anything", "ordered"):
        return
    for column in KINDS["ordered"]:
        text = f"PATTERN SEQ(A a, B b) AGG {name}(a.{column})"
        with pytest.raises(PatternError, match=f"a.{column}"):
            ck.aggregate(stream("matches"), text, method=method)


@NAME
def test_result_of_values_equals_the_judge(name: str) -> None:
    for column in (*WHOLE, *OTHERS):
        if column in KINDS["ordered"] and not takes_anything_ordered(name):
            continue
        values = [v for v in COLUMNS[column][1] if v is not None and v == v]
        for number in range(len(values) + 1):
            result = comparable(AGGREGATES[name].of(values[:number]))
            assert result == comparable(meaning(name, values[:number])), (column, number)


@NAME
def test_prints_and_reads_again_with_a_line_of_help(name: str) -> None:
    text = f"PATTERN SEQ(A a, B b) AGG {name.upper()}(b.few)"
    assert parse(str(parse(text))) == parse(text)
    assert AGGREGATES[AGGREGATES[name].name] is AGGREGATES[name]
    assert AGGREGATES.help[name]


OF_NUMBERS = (
    "COUNT({0})", "SUM({0})", "AVG({0})", "MIN({0})", "MAX({0})", "VARIANCE({0})", "STDDEV({0})",
    "MEDIAN({0})", "P95({0})", "P7({0})", "PERCENTILE({0}, 0.125)", "PERCENTILE({0}, 1)",
)  # fmt: skip
"""Aggregates of values that matches have; COUNT(DISTINCT ...) is of all kinds."""


@pytest.mark.parametrize("column", [*WHOLE, *OTHERS])
@pytest.mark.parametrize("of", STREAMS)
def test_aggregates_of_values_of_matches_are_the_judges(of: str, column: str) -> None:
    forms = OF_NUMBERS if column in KINDS["numbers"] else ("COUNT({0})", "MIN({0})", "MAX({0})")
    for pattern in ("pair", "three", "single", "bounded set", "set", "choice"):
        value = "max(b.{})" if "set" in pattern else "b.{}"
        aggregates = [form.format(value.format(column)) for form in forms]
        aggregates += ["COUNT", f"COUNT(DISTINCT {value.format(column)})", "COUNT(DISTINCT 1)"]
        structure = PATTERNS[pattern]
        if column in ("text", "truth") and "set" in pattern:
            continue
        for part in PARTS:
            partition, group = (f" {part}", "") if part.startswith("PART") else ("", part)
            text = f"PATTERN {structure % partition} AGG {', '.join(aggregates)} {group}"
            asked = parse(text)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of an empty stream
                table = ck.aggregate(stream(of), asked, emit="total").to_arrow()
            expected_rows = rows_of(asked, as_judged(of), "total")
            assert rows_in(table, asked, comparable) == Counter(
                tuple(map(comparable, row)) for row in expected_rows
            ), text
