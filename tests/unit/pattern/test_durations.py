"""Durations in conditions: their text, their values, and the exactness of times."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from cepkit.automata.events import Event
from cepkit.automata.scalars import Layout
from cepkit.automata.scalars import value as scalar
from cepkit.pattern.conditions import Comparison, Literal
from cepkit.pattern.evaluation.columns import value
from cepkit.pattern.parsing.parser import parse_condition
from cepkit.pattern.policies import in_microseconds
from cepkit.pattern.printer import expression_text
from cepkit.stream.columns import MISSING_INTEGER, Column, Kind
from cepkit.stream.durations import UNITS

SECOND = 1_000_000
NOW = 1_714_555_800 * SECOND
KINDS: dict[str, Kind] = {
    "ts": "timestamp",
    "d": "duration",
    "x": "integer",
    "y": "float",
    "n": "null",
}
FIRST = {"ts": NOW, "d": 90 * SECOND, "x": 3, "y": 0.5, "n": None}
SECOND_ROW = {"ts": NOW + 5 * SECOND, "d": None, "x": -7, "y": 1.5, "n": None}


def written(text: str) -> timedelta:
    """Return the duration that a text writes in a condition."""
    found = parse_condition(f"a.d < {text}")
    assert isinstance(found, Comparison)
    assert isinstance(found.right, Literal)
    assert isinstance(found.right.value, timedelta)
    assert parse_condition(expression_text(found)) == found
    return found.right.value


@pytest.mark.parametrize("unit", UNITS)
def test_a_condition_knows_the_units_of_within(unit: str) -> None:
    assert written(f"2 {unit}") == timedelta(microseconds=2 * UNITS[unit])
    assert written(f"-2{unit.upper()}") == -timedelta(microseconds=2 * UNITS[unit])


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1.5 seconds", 1_500_000),
        ("1e-6 s", 1),
        ("0.000_001 s", 1),
        ("1_000 ms", 1_000_000),
        ("- 0 s", 0),
        ("9223372036854775807 us", 2**63 - 1),
        ("-9223372036854775807 us", -(2**63 - 1)),
    ],
)
def test_a_duration_is_exact(text: str, microseconds: int) -> None:
    assert in_microseconds(written(text)) == microseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b.ts - a.ts", ("duration", 5 * SECOND)),
        ("a.ts - b.ts", ("duration", -5 * SECOND)),
        ("-(b.ts - a.ts)", ("duration", -5 * SECOND)),
        ("a.ts + 1.5 s", ("timestamp", NOW + 1_500_000)),
        ("1 min + a.ts", ("timestamp", NOW + 60 * SECOND)),
        ("a.ts - 1 us", ("timestamp", NOW - 1)),
        ("a.d + 1 s", ("duration", 91 * SECOND)),
        ("a.d - 1 min", ("duration", 30 * SECOND)),
        ("a.d % 1 min", ("duration", 30 * SECOND)),
        ("-a.d % 1 min", ("duration", -30 * SECOND)),
        ("a.d % 0 s", ("duration", None)),
        ("a.d * a.x", ("duration", 270 * SECOND)),
        ("b.x * a.d", ("duration", -630 * SECOND)),
        ("a.d * a.y", ("duration", 45 * SECOND)),
        ("a.d / a.x", ("duration", 30 * SECOND)),
        ("a.d / 0", ("duration", None)),
        # Half to even, as Python's own durations.
        ("1 us / 2", ("duration", 0)),
        ("3 us / 2", ("duration", 2)),
        ("5 us * 0.5", ("duration", 2)),
        ("-3 us / 2", ("duration", -2)),
        ("1 s / 3", ("duration", 333_333)),
        ("a.d / 1 min", ("float", 1.5)),
        ("a.d / (b.ts - a.ts)", ("float", 18.0)),
        ("a.d / 0 s", ("float", None)),
        ("a.d * 1e300", ("duration", None)),
        ("9223372036854775807 us + 1 us", ("duration", None)),
        ("9223372036854775807 us * 2", ("duration", None)),
        ("abs(a.ts - b.ts)", ("duration", 5 * SECOND)),
        ("least(a.d, b.ts - a.ts)", ("duration", 5 * SECOND)),
        ("greatest(a.ts, b.ts)", ("timestamp", NOW + 5 * SECOND)),
        ("a.ts + b.d", ("timestamp", None)),
        ("b.d * 2", ("duration", None)),
        ("a.ts - a.n", ("null", None)),
        ("a.n * 5 s", ("null", None)),
        ("least(a.d, NULL)", ("null", None)),
    ],
)
def test_all_evaluators_agree_on_times_and_durations(
    text: str, expected: tuple[Kind, float | None]
) -> None:
    comparison = parse_condition(f"{text} = NULL")
    assert isinstance(comparison, Comparison)
    expression = comparison.left
    rows = {"a": FIRST, "b": SECOND_ROW}

    def read(variable: str, name: str) -> Column:
        found, kind = rows[variable][name], KINDS[name]
        if kind in ("float", "null"):
            return Column(kind, np.array([np.nan if found is None else found]), has_missing=True)
        held = MISSING_INTEGER if found is None else found
        return Column(kind, np.array([held], dtype=np.int64), has_missing=found is None)

    column = value(expression, read)
    of_column = None if column.missing()[0] else column.values[0]
    assert (column.kind, of_column) == expected

    layout = Layout({"a": 0, "b": 1}, 2, frozenset(), {n: i for i, n in enumerate(KINDS)}, KINDS)
    events = [Event(0, 0, 0, 0, "A", tuple(row.values()), ()) for row in rows.values()]
    assert scalar(expression, layout)(events) == expected[1]
