"""Queries found together have the judge's matches, whatever they share and however they are cut."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.results.several import PATTERN, SeveralMatches
from cepkit.pattern import conditions as c
from cepkit.pattern.checks import check
from cepkit.pattern.nodes import bound_events_of, repeated_in
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan, TreePlan
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import events
from tests.disguise import disguised, renamed
from tests.judge import BudgetError, judge
from tests.properties.test_engine import trees
from tests.strategies import Case, as_table, cases, orders, queries, result_of


def related(draw: st.DrawFn, query: Query) -> Query:
    """Draw a query that has something in common with another."""
    window = query.window
    if isinstance(window, TimeWindow) and draw(st.booleans()):
        halved = window.microseconds // 2
        longer = window.microseconds * draw(st.sampled_from((1, 2, 5)))
        window = TimeWindow(draw(st.sampled_from((longer, halved))), draw(st.booleans()))
    elif isinstance(window, CountWindow) and draw(st.booleans()):
        window = CountWindow(window.events + 2)
    parts = c.conjuncts(query.where)
    if parts and draw(st.integers(0, 2)) == 2:
        parts = parts[:-1]
    where = None if not parts else parts[0] if len(parts) == 1 else c.AllOf(tuple(parts))
    strategy = query.strategy
    if draw(st.integers(0, 7)) == 7:
        strategy = Strategy.SKIP_TILL_NEXT_MATCH
    changed = check(replace(query, where=where, window=window, strategy=strategy))
    match draw(st.integers(0, 3)):
        case 0:
            return changed
        case 1:
            return disguised(draw, changed)
        case _:
            return renamed(draw, changed)


def plan_of(draw: st.DrawFn, query: Query) -> Plan:
    """Draw a plan; most often the order of the text, so that queries begin alike."""
    chosen: list[OrderPlan | TreePlan] = []
    for branch in normal_form(query):
        order = branch.variables if draw(st.integers(0, 2)) else draw(orders(branch))
        if draw(st.integers(0, 4)) == 4:
            chosen.append(TreePlan(draw(trees(order))))
        else:
            chosen.append(OrderPlan(order))
    return Plan(tuple(chosen), "by hand")


def no_measure(_: Query) -> Statistics:
    """Fail: nothing is measured where plans are given."""
    raise AssertionError


def workload(draw: st.DrawFn, case: Case) -> dict[str, tuple[Query, set[Any]]]:
    """Draw queries beside that of a case, and what the judge says of each."""
    known = {"first": (case.query, set(case.matches))}
    for number in range(draw(st.integers(1, 4))):
        query = draw(queries()) if draw(st.integers(0, 4)) == 4 else related(draw, case.query)
        try:
            known[f"{number}"] = query, set(judge(case.events, query, budget=30_000))
        except BudgetError:
            continue
    return known


def rows_of(query: Query, rows: list[Mapping[str, Any]]) -> set[Any]:
    """Return the matches of one query among those of all."""
    variables = tuple(event.variable for event in bound_events_of(query.structure))
    single = {*variables} - {*repeated_in(query.structure)}
    own = [
        {v: row[v][0] if v in single and isinstance(row[v], list) else row[v] for v in variables}
        for row in rows
    ]
    return result_of(own, variables)


@pytest.mark.parametrize("unsorted", [False, True])
@given(data=st.data())
def test_queries_together_have_the_matches_of_each_alone(
    unsorted: bool, data: st.DataObject
) -> None:
    case = data.draw(cases(unsorted=unsorted))
    known = workload(data.draw, case)
    stream = events(as_table(case.events), time="ts", type="kind")
    chosen = [plan_of(data.draw, query) for query, _ in known.values()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        several = SeveralMatches(
            stream,
            {name: query for name, (query, _) in known.items()},
            chosen,
            no_measure,
            share=data.draw(st.integers(0, 4)) < 4,
            slice_rows=data.draw(st.sampled_from((None, 1, 3, 7))),
        )
        rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in known}
        for row in several.together.to_arrow().to_pylist():
            rows[row[PATTERN]].append(row)
        counts = several.counts()
    for name, (query, expected) in known.items():
        assert rows_of(query, rows[name]) == expected
        assert counts[name] == len(expected)
