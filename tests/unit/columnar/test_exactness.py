"""No result depends on the inner loop that finds it: large integers, keys, texts, many bands."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.columnar.join import generated, step
from cepkit.columnar.results.matches import Matches
from cepkit.pattern.keys import dense_keys, partition_keys
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import Strategy
from cepkit.plan.checks import as_plan
from cepkit.stream.columns import MISSING_INTEGER, Column
from cepkit.stream.stream import events
from tests.loops import Way, evaluated, in_python

WAYS = get_args(Way)
BIG = 2**53


def found(query: str, way: Way, order: str = "ab", **columns: pa.Array) -> int:
    """Return how many matches two events A and B, a second apart, have."""
    table = pa.table({"t": [0, 1], "kind": ["A", "B"], **columns})
    stream = events(table, time="t", type="kind", unit="s")
    pattern = parse(f"PATTERN SEQ(A a, B b) WHERE {query}")
    with evaluated(way):
        return Matches(stream, pattern, as_plan(list(order), pattern)).count()


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("query", "x", "matches"),
    [
        ("a.x < b.x", [BIG, BIG + 1], 1),
        ("a.x = b.x", [BIG, BIG + 1], 0),
        ("a.x = b.x OR a.x > b.x", [BIG, BIG + 1], 0),
        ("a.x + b.x > b.x + b.x", [BIG + 1, BIG], 1),
        ("a.x * a.x < b.x", [BIG, BIG + 1], 0),
        ("a.x + b.x < 0", [-(2**62), -(2**62)], 0),
        ("a.x + b.x <= 0.5", [1 - 2**63, -1], 0),
        ("a.x - b.x IS NULL", [1 - 2**63, 1], 1),
        ("a.x * 2 = b.x * 2", [-(2**62), -(2**62)], 0),
        ("a.x != b.x", [BIG, BIG + 1], 1),
        ("a.x < b.x", [None, BIG + 1], 0),
        ("a.x < b.x", [-(2**62), 2**62], 1),
        ("sign(a.x - b.x) = -1", [BIG, BIG + 1], 1),
        ("mod(a.x + b.x, 2) = 1", [BIG, BIG + 1], 1),
        ("round(a.x + b.x) = floor(b.x + b.x)", [BIG, BIG + 1], 0),
    ],
)
def test_integers_beyond_the_precision_of_floats_compare_exactly(
    query: str, x: list[int | None], matches: int, way: Way, order: str
) -> None:
    assert found(query, way, order, x=pa.array(x, pa.int64())) == matches


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("a.x < b.x", 1),  # -infinity < infinity
        ("b.x > a.x", 1),
        ("b.x < a.x", 0),
        ("a.x <= a.x AND a.x = a.x AND NOT a.x < a.x", 1),
        ("a.x + b.x = a.x", 0),  # NaN: missing
        ("NOT (a.x + b.x = a.x)", 0),
        ("(a.x + b.x) IS NULL", 1),
        ("a.zero = b.zero", 1),  # 0.0 and -0.0
        ("a.zero < b.zero OR a.zero > b.zero", 0),
        ("a.zero / b.zero IS NULL", 1),
        ("b.x / a.zero > 0", 0),
        ("least(a.x, b.x, NULL) IS NULL", 1),
        ("sqrt(a.x * b.zero) IS NULL AND log(a.zero + b.zero) IS NULL", 1),
        ("power(a.x + b.x, 0) IS NULL", 1),
        ("power(a.zero + b.zero, -1) IS NULL AND power(-1 - a.zero * b.zero, 0.5) IS NULL", 1),
        ("round(a.x + b.x) IS NULL AND sign(a.x + b.x) IS NULL", 1),
        ("floor(b.x - a.x) = b.x AND sign(a.x - b.x) = -1", 1),
    ],
)
def test_infinities_zeros_and_missing(query: str, matches: int, way: Way) -> None:
    numbers = {"x": pa.array([-np.inf, np.inf]), "zero": pa.array([0.0, -0.0])}
    assert found(query, way, **numbers) == matches


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("a.s < b.s", 1),
        ("a.s < b.r", 1),
        ("a.s = b.r", 0),
        ("a.r = b.s OR a.s = b.r", 1),
        ("a.s < b.s OR a.s > b.r", 1),
        ("a.s != b.s", 1),
        ("a.s IN (b.r, 'x')", 0),
        ("a.r IN (b.s, 'x')", 1),
        ("a.r NOT IN (b.s, 'x')", 0),
    ],
)
def test_texts_of_two_columns_compare_as_texts(query: str, matches: int, way: Way) -> None:
    texts = {"s": pa.array(["alpha", "beta"]), "r": pa.array(["beta", "gamma"])}
    assert found(query, way, **texts) == matches


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("lower(a.s) < b.r OR a.s = b.r", 1),
        ("upper(a.s) = b.r OR upper(a.s) = b.s", 0),
        ("concat(a.s, b.s) = 'alphabeta'", 1),
        ("concat(a.s, b.s) = concat(a.s, b.r)", 0),
        ("contains(b.r, substring(a.r, 2, 1)) OR a.s = b.r", 0),
        ("contains(b.r, substring(a.r, 4))", 1),
        ("starts_with(a.s, 'al') AND (a.s = b.r OR ends_with(b.r, 'ma'))", 1),
        ("length(a.s) * b.n % 2 = 1", 1),  # a product that floats do not hold
        ("length(concat(a.s, b.s)) + a.n + b.n > 9", 1),
    ],
)
def test_functions_of_texts(query: str, matches: int, way: Way) -> None:
    texts = {"s": pa.array(["alpha", "beta"]), "r": pa.array(["beta", "gamma"])}
    assert found(query, way, **texts, n=pa.array([0, 2**51 + 1])) == matches


@pytest.mark.parametrize("way", ["numpy", "compiled"])  # Python has no power that is infinite
@pytest.mark.parametrize(
    "query",
    ["exp(a.x + b.x) > 1e308", "power(-9 * a.x, b.x + 1) < -1e308", "power(10, a.x * b.x) > 1e308"],
)
def test_functions_beyond_the_range_of_floats_are_infinite(query: str, way: Way) -> None:
    x = pa.array([400.0, 400.0])
    assert found(query, way, x=x) == 1
    stream = ck.events(
        pa.table({"t": [0, 1], "kind": ["A", "B"], "x": x}), time="t", type="kind", unit="s"
    )
    assert len(ck.simulate(stream, f"PATTERN SEQ(A a, B b) WHERE {query}").matches) == 1


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("query", "matches"),
    [
        # Read as texts, "1970-1-2" comes after "1970-01-03".
        ("a.said < b.moment", 1),
        ("b.moment < a.said", 0),
        ("a.said < b.moment AND (a.said < b.moment OR a.moment > b.moment)", 1),
        ("b.moment IN (a.said, b.said)", 0),
        ("a.said = b.moment", 0),
        ("b.said = a.moment", 1),
    ],
)
def test_texts_beside_times_compare_as_times(
    query: str, matches: int, way: Way, order: str
) -> None:
    day = 86_400_000_000
    said = pa.array(["1970-01-02T00:00:00.000000", "1970-01-01 12:00"])
    moment = pa.array([day // 2, 2 * day], pa.timestamp("us"))
    assert found(query, way, order, said=said, moment=moment) == matches


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("b.t - a.t = 1 s", 1),
        ("b.t - a.t > 999_999 us", 1),
        ("b.t - a.t > 1 s", 0),
        ("abs(a.t - b.t) < 1000001 us", 1),
        ("abs(a.t - b.t) < 1 s", 0),
        ("abs(b.t - a.t) < -1 s", 0),
        ("NOT b.t - a.t <= 1 s", 0),
        ("b.t - a.t BETWEEN 1 s AND 1 min", 1),
        ("1 s < b.t - a.t OR b.t - a.t IN (2 s, 1000 ms)", 1),
        # Beyond what floats hold, and at the ends of 64 bits.
        ("b.d - a.d = 1 us", 1),
        ("b.d - a.d < 1 us", 0),
        ("abs(b.d - a.d) <= 1 us", 1),
        ("b.d - a.d > -9223372036854775807 us", 1),
        ("b.d - a.d < 9223372036854775807 us", 1),
        ("abs(b.d - a.d) < 9223372036854775807 us", 1),
        ("b.d * 4 IS NULL AND a.d + a.d + b.d IS NULL", 1),
        # A third of a microsecond is none.
        ("(b.t - a.t) / a.n = 333333 us", 1),
        ("(b.t - a.t) * a.half = b.t - a.t", 0),
        ("(b.t - a.t) * a.half = 500 ms OR b.d < a.d", 1),
        ("(b.t - a.t) / 1 s = 1 AND (a.t - b.t) / (b.t - a.t) = -1", 1),
        ("b.u - a.t > 0 s", 0),
        ("(b.u - a.t) IS NULL", 1),
    ],
)
def test_durations_are_exact_in_every_loop(query: str, matches: int, way: Way, order: str) -> None:
    columns = {
        "d": pa.array([2**62 - 2, 2**62 - 1], pa.duration("us")),
        "u": pa.array([0, None], pa.timestamp("ms")),
        "n": pa.array([3, 3]),
        "half": pa.array([0.5, 0.5]),
    }
    assert found(query, way, order, **columns) == matches


@pytest.mark.parametrize("way", WAYS)
def test_integer_equal_to_the_mark_of_missing_is_missing(
    way: Way,
) -> None:
    for other in (5, None):
        x = pa.array([MISSING_INTEGER, other], pa.int64())
        assert found("a.x < 0 OR a.x >= 0", way, x=x) == 0
        assert found("a.x IS NULL", way, x=x) == 1


@pytest.mark.parametrize("way", WAYS)
def test_more_bands_than_an_inner_loop_takes(way: Way) -> None:
    names = "uvwxyz"
    rising = {name: pa.array([0.0, 1.0]) for name in names}
    query = " AND ".join(f"a.{name} < b.{name}" for name in names)
    assert found(query, way, **rising) == 1
    assert found(query, way, **{**rising, "z": pa.array([1.0, 1.0])}) == 0
    linked = " AND ".join(f"a.{name} = b.{name}" for name in names)
    same = {name: pa.array([0.0, 0.0]) for name in names}
    assert found(linked, way, **same) == 1
    for name in names:
        assert found(linked, way, **{**same, name: pa.array([0.0, 1.0])}) == 0


def test_keys_are_dense_and_equal_where_values_are() -> None:
    integers = Column("integer", np.array([10**12, 5, MISSING_INTEGER, 5]), has_missing=True)
    floats = Column("float", np.array([5.0, np.nan, -0.0, 0.0]), has_missing=True)
    (x, y), count = dense_keys([integers, floats])
    assert x[1] == x[3] == y[0]
    assert y[2] == y[3]
    assert (x[2], y[1]) == (-1, -1)
    assert max(*x, *y) < count <= 8
    codes, count = partition_keys([integers, floats])
    assert len(set(codes)) == 4
    assert codes.max() < count


def test_names_and_constants_of_a_pattern_never_reach_generated_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = []
    monkeypatch.setattr(step, "GENERATE_AFTER", 0)
    monkeypatch.setattr(generated, "load", lambda text: written.append(text) or in_python(text))
    evil = "__import__('os').system('true')"
    table = pa.table({"t": [0, 1], "kind": ["A", "B"], evil: [1, 2]})
    quoted = '"' + evil + '"'
    pattern = parse(
        f"PATTERN SEQ(A a, B b) WHERE a.{quoted} + b.{quoted} != 7193 OR a.{quoted} > b.{quoted}"
    )
    stream = events(table, time="t", type="kind", unit="s")
    assert Matches(stream, pattern, as_plan(None, pattern)).count() == 1
    taken = replace(pattern, strategy=Strategy.SKIP_TILL_NEXT_MATCH)
    assert Matches(stream, taken, as_plan(None, taken)).count() == 1
    assert any("def predicate(" in source for source in written)
    assert any("x0" in source for source in written)
    assert not any("import" in source or "7193" in source for source in written)


LAST = 2**63 - 1


@pytest.mark.parametrize(
    ("x", "total"),
    [
        ([LAST], LAST),
        ([-LAST], -LAST),
        ([2**62, 2**62 - 1], LAST),
        ([LAST, 1, -1], LAST),
        ([LAST] * 5 + [-LAST] * 5 + [3], 3),
        ([2**62, 2**62], None),
        ([-(2**62), -(2**62)], None),
        ([LAST] * 3, None),
    ],
)
def test_sums_of_sets_are_exact_up_to_the_last_integer(x: list[int], total: int | None) -> None:
    table = pa.table({"t": range(len(x)), "kind": ["A"] * len(x), "x": x})
    stream = events(table, time="t", type="kind", unit="s")
    pattern = f"PATTERN KL(A a){{{len(x)}}}"
    (match,) = ck.detect(stream, f"{pattern} RETURN sum(a.x) AS total, avg(a.x) AS mean")
    assert (match["total"], match["mean"]) == (total, float(sum(x)) / len(x))
    same = f"{pattern} WHERE sum(a.x) = {total}" if total else f"{pattern} WHERE sum(a.x) IS NULL"
    assert ck.detect(stream, same).count() == len(ck.simulate(stream, same).matches) == 1
