"""JOIN's study on the mechanisms that the source itself runs, event by event, on minute bars.

The columnar engine bounds its memory whatever the plan, and works in batches, so its latency says
nothing about plans. The source measures the lazy chain automaton for orders and the instance-based
evaluation tree for trees, and so does this part. Memory is instances and buffered events at their
peak; the latency of a match is the number of evaluations when its last event comes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.join_patterns import Kind, Market
from benchmarks.join_runs import Row, Subject, candidates_of, costs, plans, subjects
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.automata.mechanisms.contract import Mechanism
from cepkit.automata.simulation import follow, machine_for
from cepkit.automata.subject import attributes_read
from cepkit.costs import Blend
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan, work_of
from cepkit.planners.choose import choose_plan
from cepkit.stream.stream import Stream

KINDS: tuple[Kind, ...] = ("sequence", "negation", "conjunction", "disjunction")
"""All kinds but sets: event by event each set would be an instance."""
MOST, MOST_RUN = 2e4, 2e5
"""The most expected candidates of the best order of each branch, and of a plan that is run."""
ALPHAS = (0.0, 0.5, 1.0, 10.0, 100.0)
"""The weights of latency: those of the source, and two greater ones."""
PLANNERS = ("greedy", "ii-random", "ii-greedy", "dp-order", "zstream-ord", "dp-tree")
"""The planners that look at costs and may reorder."""
_NAMES = (
    "matches",
    "evaluations",
    "created",
    "peak instances",
    "peak stored",
    "evaluated at last",
    "ms",
)


class Runs:
    """Runs of the plans of one pattern; equal plans are run once.

    Args:
        subject: The pattern.
        expected: Returns the expected work of a plan, before it is run.
    """

    def __init__(self, subject: Subject, expected: Callable[[Plan], float] = candidates_of) -> None:
        self._subject, self._expected = subject, expected
        self._done: dict[tuple[bool, object], Row] = {}

    def row(self, planner: str, plan: Plan) -> Row:
        """Return the cost and work of a plan; `first`: no equal plan was run before."""
        subject = self._subject
        tree = not all(isinstance(branch, OrderPlan) for branch in plan.branches)
        # Unlike the engine, mechanisms make sets where the plan has them.
        key = tree, tuple(map(work_of, plan.branches))
        first = key not in self._done
        if first:
            expected = self._expected(plan)
            self._done[key] = ran(subject.market.stream, subject.query, plan, expected, tree=tree)
        return (
            subject.head
            | {"planner": planner, "tree": tree, "first": first}
            | costs(plan, subject.query, subject.statistics)
            | self._done[key]
        )


def rows(market: Market, sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row for each pattern and planner."""
    for subject in subjects(market, sizes, patterns, KINDS, MOST):
        runs = Runs(subject)
        for planner, plan in plans(subject.query, subject.statistics).items():
            yield runs.row(planner, plan)


def weighed(market: Market, sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row for each sequence, planner and alpha."""
    for subject in subjects(market, sizes, patterns, ("sequence",), MOST):
        runs = Runs(subject)
        for alpha in ALPHAS:
            for planner in PLANNERS:
                plan = choose_plan(subject.query, subject.statistics, planner, Blend(alpha))
                yield {"alpha": alpha} | runs.row(planner, plan)


def ran(
    stream: Stream,
    query: Query,
    plan: Plan,
    expected: float,
    *,
    tree: bool,
    mechanisms: Mapping[str, Mechanism] = MECHANISMS,
) -> Row:
    """Return the work of a plan; nothing if it is too expensive to run."""
    mechanism = mechanisms["evaluation-tree" if tree else "chain-nfa"]
    if expected > MOST_RUN:
        return dict.fromkeys(_NAMES) | {"not run": f"{expected:.1e} expected"}
    columns = stream.columns(attributes_read(query))
    machine, events = machine_for(mechanism, columns, query, follow(mechanism, plan, query))
    journal = machine.journal
    journal.recording = False
    waited, before = 0, journal.counts()
    began = time.process_time()
    for event in events:
        machine.feed(event)
        after = journal.counts()
        waited += (after.matches - before.matches) * (after.evaluations - before.evaluations)
        before = after
    machine.finish()
    seconds = time.process_time() - began
    counts = journal.counts()
    done = (
        counts.matches,
        counts.evaluations,
        counts.created,
        journal.peak_instances,
        journal.peak_stored,
        waited / counts.matches if counts.matches else None,
        seconds * 1e3,
    )
    return dict(zip(_NAMES, done, strict=True)) | {"not run": ""}
