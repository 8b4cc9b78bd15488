"""Aggregation equals detection followed by aggregation, for every method."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.two_step import two_step
from cepkit.aggregation.methods import running, subtraction
from cepkit.aggregation.sequence.definition import sequence_of
from cepkit.aggregation.sequence.elements import Method
from cepkit.errors import UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.checks import check
from cepkit.pattern.nodes import (
    Event,
    First,
    Kleene,
    Not,
    Seq,
    Structure,
    bound_events_of,
    events_of,
)
from cepkit.pattern.policies import CountWindow, Strategy
from cepkit.pattern.query import Query
from cepkit.routes import detected
from cepkit.routes.aggregates import aggregate
from cepkit.routes.functions import functions_of
from cepkit.routes.ways import EMITS
from cepkit.stream.stream import events
from tests.aggregates import Row, plain, rows_in, rows_of
from tests.strategies import Case, as_table, cases

AGGREGATED = ("x", "y", "z", "k", "s")
"""The attributes of aggregates and groups."""


def with_aggregates(draw: st.DrawFn, query: Query) -> Query:
    names = [event.variable for event in bound_events_of(query.written)]
    aggregates = [c.Aggregate("count")]
    for _ in range(draw(st.integers(0, 3))):
        function = draw(st.sampled_from([*AGGREGATES]))
        numbers = AGGREGATES[function].takes in ("amounts", "numbers")
        attribute = draw(st.sampled_from("xyz" if numbers else "xyzsf"))
        aggregates.append(c.Aggregate(function, draw(st.sampled_from(names)), attribute))
    if draw(st.booleans()):
        aggregates.append(c.Aggregate("count", draw(st.sampled_from(names))))
    if settings.get_current_profile_name() == "quick" and any(a.attribute for a in aggregates):
        # Loops compile for the kinds of numbers that a query has, which takes seconds for each.
        aggregates += [c.Aggregate("sum", names[0], "y"), c.Aggregate("min", names[0], "x")]
    group_by = draw(st.sampled_from(((), (), ("k",), ("z",), ("s", "k"))))
    having = [_threshold(draw, aggregates) for _ in range(draw(st.sampled_from((0, 0, 1, 2))))]
    return check(
        replace(query, aggregates=tuple(aggregates), group_by=group_by, having=tuple(having))
    )


def _threshold(draw: st.DrawFn, aggregates: list[c.Aggregate]) -> c.Comparison:
    """Draw a comparison of an aggregate that is a number; no result of division is near it."""
    numbers = [a for a in aggregates if a.function == "count" or a.attribute in (*"xyz",)]
    aggregate = draw(st.sampled_from(numbers))
    whole = aggregate.function == "count"
    number = draw(st.sampled_from((1, 2, 1.5) if whole else (0.31417, 2.71828, -1.41421)))
    operator = draw(st.sampled_from((">", ">=", "<", "<=", "=", "!=")))
    return c.Comparison(operator, aggregate, c.Literal(number))


def _items(structure: Structure) -> tuple[Structure, ...]:
    return structure.items if isinstance(structure, Seq) else (structure,)


def _with_set(draw: st.DrawFn, structure: Structure) -> Structure:
    """Draw which single event of a sequence becomes a set."""
    items = _items(structure)
    at = draw(st.sampled_from([i for i, item in enumerate(items) if isinstance(item, Event)]))
    items = (*items[:at], Kleene(items[at]), *items[at + 1 :])
    return Seq(items) if len(items) > 1 else items[0]


def _perhaps_first(draw: st.DrawFn, item: Structure) -> Structure:
    return First(item) if isinstance(item, Event) and draw(st.booleans()) else item


def a_sequence(draw: st.DrawFn, query: Query) -> Query:
    """Draw a query for A-Seq: with absences, keys and aggregates."""
    if len(bound_events_of(query.structure)) > 1 and draw(st.booleans()):
        query = replace(query, structure=_with_absence(draw, query.structure))
    if isinstance(query.structure, Seq) and draw(st.booleans()):
        begin, *rest = query.structure.items
        rest = [_perhaps_first(draw, item) for item in rest]
        query = replace(query, structure=Seq((begin, *rest)))
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        if any(isinstance(item, Event) for item in _items(query.structure)):
            query = replace(query, structure=_with_set(draw, query.structure))
    names = [event.variable for event in events_of(query.structure)]
    if len(names) > 1 and draw(st.integers(0, 2)) == 2:
        attribute = draw(st.sampled_from("kkzsy"))
        links = [
            c.Comparison("=", c.Attribute(one, attribute), c.Attribute(other, attribute))
            for one, other in pairwise(names)
        ]
        positive = [event.variable for event in bound_events_of(query.structure)]
        if positive != names:  # an absent event must not stand between two that are linked
            first = positive[0]
            links = [
                c.Comparison("=", c.Attribute(first, attribute), c.Attribute(name, attribute))
                for name in names
                if name != first
            ]
        parts = (*c.conjuncts(query.where), *links)
        query = replace(query, where=c.AllOf(parts) if len(parts) > 1 else parts[0])
    query = with_aggregates(draw, query)
    try:
        sequence_of(query)
    except UnsupportedError:
        assume(False)
    return query


def _with_absence(draw: st.DrawFn, structure: Structure) -> Structure:
    """Draw a sequence with one or two NOTs between its events."""
    items = list(events_of(structure))
    for name in ("n", "o")[: draw(st.integers(1, 2))]:
        absent = Event(name, frozenset(draw(st.sampled_from(("C", "B", "X", "AC")))))
        items.insert(draw(st.integers(1, len(items) - 1)), Not(absent))
    return Seq(tuple(items))


SEQUENCES = cases(
    ("SEQ",),
    max_variables=5,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    windows=("none", "time", "time-exclusive"),
    condition_kinds=("filter", "is-null", "truth", "constant", "between"),
    max_conditions=2,
    unsorted=True,
    varying=AGGREGATED,
    change=a_sequence,
)
WITHOUT_SETS = SEQUENCES.filter(lambda case: not sequence_of(case.query).repeated)
ANYTHING = cases(
    max_variables=4,
    max_events=20,
    budget=10_000,
    varying=AGGREGATED,
    change=with_aggregates,
)
COUNTED = cases(
    max_variables=3,
    max_events=20,
    windows=("count", "count-exclusive"),
    budget=10_000,
    unsorted=True,
    varying=AGGREGATED,
    change=with_aggregates,
)


TIES = cases(
    max_variables=4,
    max_events=16,
    budget=10_000,
    varying=AGGREGATED,
    change=with_aggregates,
    ties="arrival",
)


@contextmanager
def without_lanes() -> Iterator[None]:
    """Aggregate without lanes, as with a user's functions."""
    with (
        mock.patch.object(running, "lanes_of", return_value=None),
        mock.patch.object(detected, "lanes_of", return_value=None),
    ):
        yield


def found(case: Case, method: str, emit: Any) -> Counter[Row]:
    """Return the rows of an aggregation in the judge's form."""
    stream = events(as_table(case.events), time="ts", type="kind", ties=case.ties)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        if method == "two-step":
            result = two_step(stream, case.query, emit)
        else:
            functions = functions_of(case.query, {})
            (result,) = aggregate(stream, {"": case.query}, [functions], method, emit)
    table = result.to_arrow()
    if emit != "total":
        times = table.column("ts").cast("int64").to_pylist()
        assert times == sorted(times)
    return rows_in(table, case.query)


def expected(case: Case, emit: str) -> Counter[Row]:
    """Return the rows that the judge expects, equal aggregates once."""
    groups = len(case.query.group_by)
    aggregates = list(dict.fromkeys(case.query.aggregates))
    at = [case.query.aggregates.index(a) for a in aggregates]
    return Counter(
        tuple(map(plain, (*row[: 2 + groups], *(row[2 + groups + i] for i in at), row[-1])))
        for row in rows_of(case.query, case.events, emit, case.ties)
    )


@pytest.mark.parametrize(
    "method",
    # What only benchmarks use: not in `make test`, as its loops take long to compile.
    [*get_args(Method), pytest.param("two-step", marks=pytest.mark.slow), "detect"],
)
@given(case=SEQUENCES, data=st.data())
def test_every_method_gives_the_aggregates_of_the_judges_matches(
    method: str, case: Case, data: st.DataObject
) -> None:
    emit = data.draw(st.sampled_from(EMITS))
    assume(method != "two-step" or not sequence_of(case.query).repeated)
    assert found(case, method, emit) == expected(case, emit)


@given(case=TIES, data=st.data())
def test_events_of_equal_time_may_have_the_order_of_their_arrival(
    case: Case, data: st.DataObject
) -> None:
    emit = data.draw(st.sampled_from(EMITS))
    assert found(case, "detect", emit) == expected(case, emit)


@pytest.mark.parametrize("method", ["a-seq", "detect"])
@given(case=SEQUENCES, data=st.data())
def test_aggregates_without_lanes_are_computed_in_python(
    method: str, case: Case, data: st.DataObject
) -> None:
    emit = data.draw(st.sampled_from(EMITS))
    with without_lanes():
        assert found(case, method, emit) == expected(case, emit)


@pytest.mark.slow
@given(case=SEQUENCES, data=st.data())
def test_whole_numbers_put_together_from_remainders_are_the_same(
    case: Case, data: st.DataObject
) -> None:
    emit = data.draw(st.sampled_from(EMITS))
    with mock.patch.object(running, "SAFE", 0.0):
        assert found(case, "a-seq", emit) == expected(case, emit)


@given(case=SEQUENCES, data=st.data())
def test_keys_beyond_the_kept_matrices_are_counted_one_by_one(
    case: Case, data: st.DataObject
) -> None:
    emit = data.draw(st.sampled_from(EMITS))
    with mock.patch.object(subtraction, "MOST_NUMBERS", 0):
        assert found(case, "window-product", emit) == expected(case, emit)


@pytest.mark.parametrize("way", [nullcontext, without_lanes], ids=["lanes", "elements"])
@given(case=ANYTHING, data=st.data())
def test_auto_aggregates_the_judges_matches_of_any_pattern(
    way: Any, case: Case, data: st.DataObject
) -> None:
    emit = data.draw(st.sampled_from(EMITS))
    with way():
        assert found(case, "auto", emit) == expected(case, emit)


@given(case=COUNTED, emit=st.sampled_from(("trigger", "changes")))
def test_a_window_in_events_leaves_matches_behind_as_events_arrive(case: Case, emit: str) -> None:
    assert found(case, "auto", emit) == expected(case, emit)


@pytest.mark.parametrize("way", [nullcontext, without_lanes], ids=["lanes", "elements"])
@given(case=ANYTHING | COUNTED, data=st.data())
def test_matches_that_no_row_can_tell_apart_are_added_up(
    way: Any, case: Case, data: st.DataObject
) -> None:
    emits = ("trigger", "changes") if isinstance(case.query.window, CountWindow) else EMITS
    emit = data.draw(st.sampled_from(emits))
    with way(), mock.patch.object(detected, "_MERGED", 1):
        assert found(case, "detect", emit) == expected(case, emit)
