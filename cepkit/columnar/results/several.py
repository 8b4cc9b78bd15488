"""The matches of several queries: a mapping of the matches of each, with results over all.

Its explanation has the work of each step, of those that are shared once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NoReturn, Self, TypeVar

from cepkit.arguments import typed
from cepkit.columnar.compile.forest import Node, Prefix
from cepkit.columnar.compile.program import Counters, StepCounters
from cepkit.columnar.compile.query import Sets
from cepkit.columnar.results.reports import warn_if_long
from cepkit.columnar.results.together import Place, Planned
from cepkit.columnar.workload import Group
from cepkit.errors import PatternError, PlanError, StatisticsError, UnsupportedError
from cepkit.lazy import pd
from cepkit.pattern.builder import as_query
from cepkit.pattern.names import name_text
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.pattern.several import PATTERN, ByName, number_of
from cepkit.pattern.zones import at_clock
from cepkit.plan.nodes import Plan
from cepkit.printing import Printed, html_output
from cepkit.progress import WithProgress
from cepkit.sharing.shared_plan import SharedPlan
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream
from cepkit.tables import first_rows, html_table, whole


@dataclass(frozen=True, slots=True)
class SharedStep:
    """One step of one query, or of several that share it.

    Attributes:
        queries: The names of those that have it.
        step: The variable that it binds, as the first of these calls it.
        depth: How many steps there are before it.
        candidates: Pairs of a partial match and an event that were examined.
        survivors: Partial matches that passed.
        removed: Partial matches that an event under NOT ruled out; not among the survivors.
        seconds: Time spent in the step.
    """

    queries: tuple[str, ...]
    step: str
    depth: int
    candidates: int
    survivors: int
    removed: int
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class SharedExplanation(Printed):
    """The work of several queries' steps; prints as a table, has an HTML repr and a pandas twin.

    Attributes:
        steps: The steps, each after the steps that it continues.
        queries: How many queries there are.
    """

    steps: tuple[SharedStep, ...]
    queries: int

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each step; `queries` are tuples of names."""
        names = SharedStep.__slots__
        return pd.DataFrame([{name: getattr(s, name) for name in names} for s in self.steps])

    def __str__(self) -> str:
        table = first_rows(_STEP_HEAD, self._rows("  "), "steps", left=2, most=100)
        return f"{self._title()}\n{table}"

    def _repr_html_(self) -> str:
        rows = self._rows("\N{NO-BREAK SPACE}" * 2)
        return html_output(html_table(_STEP_HEAD, rows, self._title(), left=2))

    def _title(self) -> str:
        common = sum(len(step.queries) > 1 for step in self.steps)
        return f"{self.queries} queries, {len(self.steps)} steps, {common} of them shared"

    def _rows(self, indent: str) -> list[tuple[str, ...]]:
        return [
            (
                indent * step.depth + step.step,
                some_names(step.queries, len(step.queries)),
                whole(step.candidates),
                whole(step.survivors),
                whole(step.removed) if step.removed else "",
                f"{step.seconds:.3f}",
            )
            for step in self.steps
        ]


_STEP_HEAD = ("step", "queries", "candidates", "survivors", "removed by NOT", "seconds")


MOST_NAMES = 4


def some_names(names: Sequence[str], number: int) -> str:
    """Return some names, and how many more there are."""
    text = ", ".join(map(name_text, names[:MOST_NAMES]))
    return text if number <= MOST_NAMES else f"{text} and {number - MOST_NAMES:,} more"


def steps_of(
    node: Node, group: Group, counters: Counters, names: Sequence[str], begin: int
) -> Iterator[SharedStep]:
    """Yield the steps of a node and of its children."""
    if isinstance(node, Prefix):
        members, lead, end = node.members, node.lead, node.length
    else:
        members, lead, end = (node.number,), node.number, len(counters[node.number])
    queries = tuple(dict.fromkeys(names[group.of[number]] for number in members))
    shared = _tree_users(group, lead, names)
    for depth in range(begin, end):
        own = counters[lead][depth]
        # In a slice where others cannot match, a query runs common steps alone.
        counted = StepCounters(own.variable)
        for number in members:
            counted.add(counters[number][depth])
        if counted.candidates or not own.shared_with:
            yield _step(counted, shared.get(counted.variable, queries), depth)
    if isinstance(node, Prefix):
        for child in node.children:
            yield from steps_of(child, group, counters, names, end)


def _tree_users(group: Group, lead: int, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the users of the shared subtrees that a program computes, by their steps."""
    users: dict[str, tuple[str, ...]] = {}
    for tree in group.query.trees:
        if tree.lead == lead:
            queries = tuple(dict.fromkeys(names[group.of[number]] for number, _ in tree.users))
            users |= {step.name: queries for step in tree.program.work}
    return users


def _step(counted: StepCounters, queries: tuple[str, ...], depth: int) -> SharedStep:
    return SharedStep(
        queries,
        counted.variable,
        depth,
        counted.candidates,
        counted.survivors,
        counted.removed,
        counted.seconds,
    )


Result = TypeVar("Result")


class SeveralMatches(WithProgress, ByName[Result]):
    """The matches of several queries, each under its name or number.

    Everything is computed on demand. `counts`, `explain` and `together` make one pass over the
    stream for all queries, on Spark one for the queries with the same cut; a request to one of
    them, as `several["a"].count()`, runs only that query.

    Attributes:
        stream: Where they are found.
        queries: The queries.
        plan: The shared plan; None where each was given its own plan.
        plans: The plan of each.
        limit: The most matches of each, None for all.
        sets: Which sets of Kleene variables make matches.

    Args:
        measure: Returns the statistics of an added query.
        place: Makes the place where the matches are found.
        share: Whether queries share common prefixes.
    """

    def __init__(
        self,
        stream: Stream,
        queries: Mapping[str, Query],
        plans: SharedPlan | Sequence[Plan],
        measure: Callable[[Query], Statistics],
        place: Callable[[Stream, Planned], Place[Result]],
        *,
        limit: int | None = None,
        sets: Sets = "every",
        share: bool = True,
    ) -> None:
        self.stream, self.limit, self.sets = stream, limit, sets
        queries = {name: at_clock(query, stream.schema.clock) for name, query in queries.items()}
        self._planned = planned = Planned.of(queries, plans, limit, sets, share=share)
        self.queries, self.plan, self.plans = planned.queries, planned.plan, planned.plans
        self._measure, self._share, self._place_of = measure, share, place
        self._place = place(stream, planned)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each query."""
        return self._planned.names

    def _at(self, number: int) -> Result:
        found: Any = self._place.find(number)
        matches: Result = found.with_progress(self.progress)
        return matches

    def add(self, pattern: str | Query | Any, name: str | None = None) -> Self:
        """Return the matches with one more query; the plans of the others stay.

        Args:
            pattern: The query, its text, or a pattern of the builder.
            name: Of the query; None for a number that is free.

        Raises:
            PatternError: It is not a query, reads a column that the stream does not have, or the
                name is in use.
            UnsupportedError: It asks for aggregates.
        """
        query = as_query(pattern)
        query.check_detectable(self.stream)
        if self.plan is None:
            raise PlanError(
                "cannot add a query: each query has a plan of its own",
                hint="detect(stream, [...]) without `plan` plans them together",
            )
        known = self.plan.statistics
        try:
            known.of(query)
        except StatisticsError:
            known = replace(known, others=(*known.others, self._measure(query)))
        return self._with(self.plan.add(query, name, known))

    def remove(self, name: str) -> Self:
        """Return the matches without one query; the plans of the others stay.

        Raises:
            PatternError: There is no query of that name, or it is the only one.
        """
        if self.plan is not None:
            return self._with(self.plan.remove(name))
        number_of(name, self.names)
        if len(self) == 1:
            raise PatternError(f"cannot remove '{name}', which is the only pattern")
        rest = [plan for own, plan in zip(self.names, self.plans, strict=True) if own != name]
        queries = zip(self.names, self.queries, strict=True)
        return self._of({own: query for own, query in queries if own != name}, rest)

    def _with(self, plan: SharedPlan) -> Self:
        return self._of(dict(zip(plan.names, plan.queries, strict=True)), plan)

    def _of(self, queries: Mapping[str, Query], plans: SharedPlan | Sequence[Plan]) -> Self:
        options: Any = {"limit": self.limit, "sets": self.sets, "share": self._share}
        place = self._place_of
        more = type(self)(self.stream, queries, plans, self._measure, place, **options)
        return more.with_progress(self.progress)

    def counts(self) -> pd.Series[int]:
        """Return the number of matches of each query, by its name.

        Raises:
            LimitError: It would have to try too many sets.
        """
        if self._place.known is None:
            warn_if_long(self._planned.queries, self._planned.plans)
        numbers = self._planned.limited(self._place.counted(self.progress)[0])
        return pd.Series(numbers, index=pd.Index(self.names, name=PATTERN), name="matches")

    def count(self, *_: Any) -> NoReturn:
        """Refuse: one number could be of each pattern or of all."""
        raise UnsupportedError(
            f"count() of {len(self)} patterns",
            hint="counts() gives the number of matches of each",
        )

    @cached_property
    def together(self) -> Any:
        """The matches of all queries, with the name of the query in the column `pattern`.

        A variable of several queries is one column; a list of events where it is a Kleene variable
        of any of them. On Spark it is a Spark DataFrame, else it has the methods of rows of
        `Matches`.
        """
        return self._place.together().with_progress(self.progress)

    @typed
    def explain(self, *, anew: bool = False) -> SharedExplanation:
        """Return the work of each step; shared steps appear once.

        Args:
            anew: Make another run in any case.
        """
        rows: list[SharedStep] = []
        for group, counters in self._place.counted(self.progress, anew=anew)[1]:
            for node in group.query.forest:
                rows += steps_of(node, group, counters, self.names, 0)
        return SharedExplanation(tuple(rows), len(self))

    def __repr__(self) -> str:
        return f"{self._planned.title}\n{first_rows(_HEAD, self._rows(), 'queries', left=3)}"

    def _repr_html_(self) -> str:
        return html_output(html_table(_HEAD, self._rows(), self._planned.title, left=3))

    def _rows(self) -> list[tuple[str, ...]]:
        shared, known = _paths(self._planned.groups), self._place.known
        return [
            (
                name,
                "; ".join(map(str, plan.branches)),
                self._others(number, shared[number])
                or _SCAN_ALONE.get(self.queries[number].strategy, "-"),
                "-" if known is None else whole(known[number]),
            )
            for number, (name, plan) in enumerate(zip(self.names, self.plans, strict=True))
        ]

    def _others(self, number: int, paths: Sequence[Sequence[int]]) -> str:
        """Return the queries that one query shares steps with."""
        queries = paths[0] if len(paths) == 1 else sorted({q for path in paths for q in path})
        first = islice((q for q in queries if q != number), MOST_NAMES)
        return some_names([self.names[q] for q in first], len(queries) - (number in queries))


_HEAD = ("query", "plan", "shares steps with", "matches")
_SCAN_ALONE: dict[Strategy, str] = {
    strategy: f"only the scan: {strategy}"
    for strategy in Strategy
    if strategy is not Strategy.SKIP_TILL_ANY_MATCH
}
"""A remark on queries under strategies in which each event depends on the whole pattern."""


def _paths(groups: Sequence[Group]) -> dict[int, list[Sequence[int]]]:
    """Return for each query the queries of each path that it begins with, itself among them."""
    paths: dict[int, list[Sequence[int]]] = {q: [] for group in groups for q in group.of}
    for group in groups:
        for node in group.query.forest:
            if isinstance(node, Prefix):
                queries = sorted({group.of[number] for number in node.members})
                for q in queries:
                    paths[q].append(queries)
    return paths
