"""Queries found together have the judge's matches, for all shared parts and slicings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.results.several import PATTERN, SeveralMatches
from cepkit.columnar.results.together import InMemory
from cepkit.costs import WORK
from cepkit.pattern import conditions as c
from cepkit.pattern.checks import check
from cepkit.pattern.nodes import And, Event, Seq, Structure, bound_events_of, repeated_in
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Pair, Plan, Tree, TreePlan
from cepkit.sharing.description import described
from cepkit.sharing.late import Late, demands, late_of, meet_of_all, order_demanded
from cepkit.sharing.shared_plan import SharedPlan
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import events
from tests.disguise import disguised, renamed
from tests.judge import BudgetError, judge
from tests.properties.test_engine import trees
from tests.strategies import Case, as_table, cases, orders, queries, result_of


def related(draw: st.DrawFn, query: Query) -> Query:
    """Draw a query with parts in common with another."""
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


def right_deep(order: tuple[str, ...]) -> Tree:
    """Return the tree that leans right."""
    tree: Tree = order[-1]
    for variable in reversed(order[:-1]):
        tree = Pair(variable, tree)
    return tree


def plan_of(draw: st.DrawFn, query: Query) -> Plan:
    """Draw a plan; mostly the order of the text, so that queries share prefixes."""
    chosen: list[OrderPlan | TreePlan] = []
    for branch in normal_form(query):
        order = branch.variables if draw(st.integers(0, 2)) else draw(orders(branch))
        match draw(st.integers(0, 5)):
            case 5:
                chosen.append(TreePlan(draw(trees(order))))
            case 3 | 4:
                # One that others have as well: its right sides are found first.
                chosen.append(TreePlan(right_deep(order)))
            case _:
                chosen.append(OrderPlan(order))
    return Plan(tuple(chosen), "by hand")


def no_measure(_: Query) -> Statistics:
    """Fail, because nothing is measured if plans are given."""
    raise AssertionError


def extended(draw: st.DrawFn, query: Query) -> Query:
    """Draw a query that shares a prefix with a sequence."""
    assert isinstance(query.structure, Seq)
    parts = list(c.conjuncts(query.where))
    items = list(query.structure.items)
    if draw(st.booleans()):
        items.append(Event("more", frozenset({draw(st.sampled_from("ABC"))})))
    if len(items) > query_length(query) and draw(st.booleans()):
        first = next(iter(bound_events_of(query.structure))).variable
        parts.append(c.Comparison("=", c.Attribute("more", "k"), c.Attribute(first, "k")))
    window = query.window
    assert isinstance(window, TimeWindow)
    window = TimeWindow(window.microseconds * draw(st.sampled_from((2, 1, 3))) // 2)
    where = None if not parts else parts[0] if len(parts) == 1 else c.AllOf(tuple(parts))
    return renamed(
        draw, check(replace(query, structure=Seq(tuple(items)), where=where, window=window))
    )


def query_length(query: Query) -> int:
    """Return the number of items of a query's sequence."""
    assert isinstance(query.structure, Seq)
    return len(query.structure.items)


def workload(
    draw: st.DrawFn, case: Case, change: Callable[[st.DrawFn, Query], Query] | None = None
) -> dict[str, tuple[Query, set[Any]]]:
    """Draw queries beside that of a case, each with the judge's matches."""
    matches_by_name = {"first": (case.query, set(case.matches))}
    for number in range(draw(st.integers(1, 4))):
        if change is not None:
            query = change(draw, case.query)
        elif draw(st.integers(0, 4)) == 4:
            query = draw(queries())
        else:
            query = related(draw, case.query)
        try:
            matches_by_name[f"{number}"] = query, set(judge(case.events, query, budget=30_000))
        except BudgetError:
            continue
    return matches_by_name


def rows_of(query: Query, rows: list[Mapping[str, Any]]) -> set[Any]:
    """Return the matches of one query among those of all."""
    variables = tuple(event.variable for event in bound_events_of(query.structure))
    single = {*variables} - {*repeated_in(query.structure)}
    own = [
        {v: row[v][0] if v in single and isinstance(row[v], list) else row[v] for v in variables}
        for row in rows
    ]
    return result_of(own, variables)


SEQUENCES = cases(
    ("SEQ", "NOT"),
    max_variables=3,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    windows=("time",),
    partitions=False,
    max_conditions=1,
    type_sets=False,
    varying=("k",),
).filter(lambda case: isinstance(case.query.structure, Seq) and bool(case.matches))


@pytest.mark.parametrize("unsorted", [False, True])
@given(data=st.data())
def test_queries_together_have_the_matches_of_each_alone(
    unsorted: bool, data: st.DataObject
) -> None:
    case = data.draw(cases(unsorted=unsorted))
    known = workload(data.draw, case)
    found_together(data, case, known, [plan_of(data.draw, query) for query, _ in known.values()])


@given(data=st.data())
def test_sequences_that_begin_alike_have_the_matches_of_each_alone(data: st.DataObject) -> None:
    case = data.draw(SEQUENCES)
    known = workload(data.draw, case, extended)
    orders = [branch.variables for query, _ in known.values() for branch in normal_form(query)]
    ends_first = data.draw(st.booleans())
    chosen: list[OrderPlan | TreePlan] = [
        TreePlan(right_deep(order[::-1])) if ends_first else OrderPlan(order) for order in orders
    ]
    found_together(data, case, known, [Plan((each,), "by hand") for each in chosen])


def with_other_conditions(draw: st.DrawFn, query: Query) -> Query:
    """Draw a query with the prefix of a sequence, in another order or with other conditions."""
    longer = extended(draw, query)
    parts = [part for part in c.conjuncts(longer.where) if draw(st.integers(0, 3))]
    names = [event.variable for event in bound_events_of(longer.structure)]
    for _ in range(draw(st.integers(0, 3))):
        one, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        right: c.Expression = c.Literal(draw(st.sampled_from((0, 1, 2))))
        if one != other:
            right = c.Attribute(other, "k")
        operator = draw(st.sampled_from(("=", ">=", "<")))
        parts.append(c.Comparison(operator, c.Attribute(one, "k"), right))
    where = None if not parts else parts[0] if len(parts) == 1 else c.AllOf(tuple(parts))
    structure: Structure = longer.structure
    if isinstance(structure, Seq) and all(isinstance(item, Event) for item in structure.items):
        if draw(st.booleans()):
            structure = And(structure.items)
        elif len(structure.items) > 2 and draw(st.booleans()):
            structure = And((Seq(structure.items[:-1]), structure.items[-1]))
    return check(replace(longer, where=where, structure=structure))


def weakly_shared(draw: st.DrawFn, queries: Sequence[Query]) -> SharedPlan:
    """Draw a shared plan; plans with equal prefixes share weaker nodes."""
    (branches,) = zip(*map(normal_form, queries), strict=True)
    most = min(len(branch.variables) for branch in branches)
    length = draw(st.integers(min(2, most), most))
    demands_of_prefixes = [
        demands((*described(b).conditions, *order_demanded(b)), b.variables[:length])
        for b in branches
    ]
    demanded = meet_of_all(demands_of_prefixes)
    late: list[tuple[Late | None, ...]] = [
        (None if own == demanded else late_of(own, demanded, branch.variables[:length]),)
        for own, branch in zip(demands_of_prefixes, branches, strict=True)
    ]
    plans = tuple(Plan((OrderPlan(b.variables),), "by hand") for b in branches)
    names = tuple(f"{i}" for i in range(len(plans)))
    pools = tuple((0,) for _ in plans)
    nothing = Statistics({})
    return SharedPlan(
        names, tuple(queries), plans, pools, tuple(late), 0.0, 0.0, "prefix", "", WORK, nothing
    )


@given(data=st.data())
def test_sequences_with_other_conditions_share_a_weaker_node(data: st.DataObject) -> None:
    case = data.draw(SEQUENCES)
    known = workload(data.draw, case, with_other_conditions)
    known = {name: each for name, each in known.items() if len(normal_form(each[0])) == 1}
    found_together(data, case, known, weakly_shared(data.draw, [q for q, _ in known.values()]))


def found_together(
    data: st.DataObject,
    case: Case,
    known: Mapping[str, tuple[Query, set[Any]]],
    plans: list[Plan] | SharedPlan,
) -> None:
    """Check the matches and the counts of queries found together."""
    stream = events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        several = SeveralMatches(
            stream,
            {name: query for name, (query, _) in known.items()},
            plans,
            no_measure,
            partial(InMemory, slice_rows=data.draw(st.sampled_from((None, 1, 3, 7)))),
            share=data.draw(st.integers(0, 4)) < 4,
        )
        rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in known}
        for row in several.together.to_arrow().to_pylist():
            rows[row[PATTERN]].append(row)
        counts = several.counts()
    for name, (query, expected) in known.items():
        assert rows_of(query, rows[name]) == expected
        assert counts[name] == len(expected)
