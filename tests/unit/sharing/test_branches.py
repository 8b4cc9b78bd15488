"""Branches of one query: what they have in common is evaluated once."""

from __future__ import annotations

import pytest

import cepkit as ck
import cepkit.sharing.choose as sharing
from cepkit.columnar.results.matches import Matches
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.nodes import OrderPlan, Pair, Plan, TreePlan

STREAM = ck.events(ck.sample_stocks(6_000), time="ts", type="ticker")
OR = (
    "PATTERN AND(MSFT a, CSCO b, OR(INTC c, AMZN d))"
    " WHERE a.difference < b.difference - 0.1 AND a.difference < c.difference - 0.1"
    " AND a.difference < d.difference - 0.1"
    " WITHIN 3 seconds"
)


def planned(*orders: str) -> Plan:
    return Plan(tuple(OrderPlan(tuple(order)) for order in orders), "by hand")


def by_branch(matches: Matches) -> list[int]:
    """Return the number of matches of each branch."""
    numbers: dict[int, int] = {}
    for program, block in matches.blocks():
        number = [p.variables for p in matches._programs].index(program.variables)
        numbers[number] = numbers.get(number, 0) + block.size
    return [numbers[number] for number in sorted(numbers)]


@pytest.mark.parametrize("slice_rows", [None, 100])
@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("PATTERN SEQ(MSFT a, GOOG b, OPT(INTC c)) WITHIN 5 seconds", ("abc", "ab")),
        (
            "PATTERN SEQ(MSFT a, OPT(GOOG b), OPT(INTC c), CSCO d) WITHIN 2 seconds",
            ("dabc", "dab", "dac", "da"),
        ),
    ],
)
def test_a_branch_that_is_the_beginning_of_another_does_no_work(text, orders, slice_rows):
    matches = Matches(STREAM, parse(text), planned(*orders), slice_rows=slice_rows)
    numbers = by_branch(matches)
    steps = matches.explain().steps
    work = {}
    for step in steps:
        work[step.branch] = work.get(step.branch, 0) + step.candidates
    assert work[len(orders)] == 0
    # The last step of each branch still tells its matches.
    last = [max(i for i, s in enumerate(steps) if s.branch == n + 1) for n in range(len(orders))]
    assert [steps[i].survivors for i in last] == numbers
    backwards = planned(*(order[::-1] for order in orders))
    expected = Matches(STREAM, parse(text), backwards).count()
    assert sum(numbers) == matches.count() == expected > 0


def test_equal_subtrees_of_branches_are_evaluated_once():
    query = parse(
        "PATTERN SEQ(MSFT a, GOOG b, INTC c, OR(CSCO d, AMZN e)) WHERE b.price < c.price + 9"
        " WITHIN 3 seconds"
    )
    trees = (Pair(Pair("a", x), Pair("b", "c")) for x in "de")
    matches = Matches(STREAM, query, Plan(tuple(map(TreePlan, trees)), "by hand"))
    orders = Matches(STREAM, query, planned("abcd", "abce"))
    assert matches.count() == orders.count() > 0
    shared = [step for step in matches.explain().steps if step.shared_with == 1]
    assert {"b", "c"} <= {step.variable for step in shared}
    assert all(step.candidates == 0 for step in shared)


def test_branches_get_plans_that_meet_where_the_work_is_long(monkeypatch):
    by_itself = ck.detect(STREAM, OR)
    monkeypatch.setattr(sharing, "_LEAST_SECONDS", 0.0)
    together = ck.detect(STREAM, OR)
    assert together.count() == by_itself.count() > 0
    assert together.plan.planner == "greedy-merge"

    def candidates(matches: Matches) -> int:
        return sum(step.candidates for step in matches.explain().steps)

    assert candidates(together) < candidates(by_itself)
    first, second = (branch.variables[:2] for branch in together.plan.branches)
    assert first == second
    one = ck.detect(STREAM, "PATTERN SEQ(MSFT a, CSCO b) WITHIN 3 seconds")
    assert one.plan.planner != "greedy-merge"
    ended_by_first = ck.detect(STREAM, "PATTERN SEQ(MSFT a, OR(FIRST CSCO b, GOOG c)) WITHIN 1 s")
    assert ended_by_first.plan.planner != "greedy-merge"
