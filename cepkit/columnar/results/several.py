"""The matches of several queries in a local stream, found in one pass over it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self, TypeAlias, TypeVar

import pyarrow as pa

from cepkit.arguments import typed
from cepkit.columnar.compile.forest import Node, Prefix
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.results import expected
from cepkit.columnar.results.flat import flat_schema
from cepkit.columnar.results.matches import Matches, report
from cepkit.columnar.results.output import check_alike
from cepkit.columnar.results.rows import Rows
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.counters import Counters, StepCounters
from cepkit.columnar.slices.plans import Branches, SlicePlans
from cepkit.columnar.workload import Group, grouped
from cepkit.errors import PatternError, PlanError, StatisticsError, UnsupportedError
from cepkit.lazy import pd
from cepkit.memory import Expected, Room
from cepkit.pattern.builder import as_query
from cepkit.pattern.names import name_text
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.pattern.several import PATTERN, ByName, number_of
from cepkit.plan.nodes import Plan
from cepkit.printing import Printed, html_output
from cepkit.progress import WithProgress, showing
from cepkit.sharing.shared_plan import SharedPlan, Sharing
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream
from cepkit.tables import first_rows, html_table, whole

Result = TypeVar("Result")

Counted: TypeAlias = "tuple[Sequence[int], Sequence[tuple[Group, Counters]]]"
"""The number of matches of each query, and the counters of each group; where slices have plans of
their own, of each group under each of its plans."""


class SeveralResults(WithProgress, ByName[Result]):
    """The matches of several queries, each under its name or number.

    Everything is computed on demand. `counts`, `explain` and `together` make one pass over the
    stream for all queries; a request to one of them, as `several["a"].count()`, runs only that
    query.

    Attributes:
        stream: Where they are found.
        plan: The shared plan; None where each was given its own plan.
        limit: The most matches of each, None for all.
        groups: The queries that run together.

    Args:
        measure: Returns the statistics of an added query.
        sets: Which sets of Kleene variables make matches.
        share: Whether queries share common prefixes.
        options: Further options of each, as `detect` takes them.
    """

    def __init__(
        self,
        stream: Stream,
        queries: Mapping[str, Query],
        plans: SharedPlan | Sequence[Plan],
        measure: Callable[[Query], Statistics],
        *,
        limit: int | None = None,
        sets: Sets = "every",
        share: bool = True,
        **options: Any,
    ) -> None:
        self.stream = stream
        self._names = tuple(queries)
        self.queries = tuple(queries.values())
        self.plan = plans if isinstance(plans, SharedPlan) else None
        sharing = Sharing.of(plans)
        self.plans = sharing.plans
        self.limit = limit
        self.sets = sets
        self.options = options
        self._share = share
        self._measure = measure
        compiled = [
            compile_query(query, plan, sets, late)
            for query, plan, late in zip(self.queries, self.plans, sharing.late, strict=True)
        ]
        self.groups = grouped(compiled, share=share, pools=sharing.pools)
        self._counted: Counted | None = None
        self._results: dict[int, Result] = {}

    @abstractmethod
    def _find(self, number: int) -> Result:
        """Return the matches of one query."""

    @abstractmethod
    def _count(self) -> Counted:
        """Return the number of matches of each query, and the counters of each group."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each query."""
        return self._names

    def _at(self, number: int) -> Result:
        if number not in self._results:
            found: Any = self._find(number)
            self._results[number] = found.with_progress(self.progress)
        return self._results[number]

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
        return type(self)(
            self.stream,
            queries,
            plans,
            self._measure,
            limit=self.limit,
            sets=self.sets,
            share=self._share,
            **self.options,
        ).with_progress(self.progress)

    def counted(self) -> Counted:
        """Return the number of matches of each query and the counters of each group."""
        if self._counted is None:
            self._counted = self._count_all()
        return self._counted

    def _count_all(self) -> Counted:
        with showing("counting matches", self.progress, self._searched):
            return self._count()

    def _searched(self) -> float | None:
        """Return the share of events searched so far; None if unknown."""
        return None

    def counts(self) -> pd.Series[int]:
        """Return the number of matches of each query, by its name.

        Raises:
            LimitError: It would have to try too many sets.
        """
        most = self.limit
        numbers = [n if most is None else min(n, most) for n in self.counted()[0]]
        return pd.Series(numbers, index=pd.Index(self.names, name=PATTERN), name="matches")

    def count(self, *_: Any) -> NoReturn:
        """Refuse: one number could be of each pattern or of all."""
        raise UnsupportedError(
            f"count() of {len(self)} patterns",
            hint="counts() gives the number of matches of each",
        )

    @property
    def known_total(self) -> int | None:
        """The number of matches, of each query up to the limit; None if not counted yet."""
        return None if self._counted is None else int(self.counts().sum())

    @typed
    def explain(self, *, anew: bool = False) -> SharedExplanation:
        """Return the work of each step; shared steps appear once.

        Args:
            anew: Make another run in any case.
        """
        if anew or self._counted is None:
            self._counted = self._count_all()
        rows: list[SharedStep] = []
        for group, counters in self._counted[1]:
            for node in group.query.forest:
                rows += _steps(node, group, counters, self.names, 0)
        return SharedExplanation(tuple(rows), len(self))

    def __repr__(self) -> str:
        return f"{self.title}\n{first_rows(_HEAD, self._rows(), 'queries', left=3)}"

    def _repr_html_(self) -> str:
        return html_output(html_table(_HEAD, self._rows(), self.title, left=3))

    @property
    def title(self) -> str:
        """A short description."""
        return f"Matches of {len(self)} {'query' if len(self) == 1 else 'queries'}"

    def _rows(self) -> list[tuple[str, ...]]:
        shared = _paths(self.groups)
        return [
            (
                name,
                "; ".join(map(str, plan.branches)),
                self._others(number, shared[number])
                or _SCAN_ALONE.get(self.queries[number].strategy, "-"),
                "-" if self._counted is None else whole(self._counted[0][number]),
            )
            for number, (name, plan) in enumerate(zip(self.names, self.plans, strict=True))
        ]

    def _others(self, number: int, paths: Sequence[Sequence[int]]) -> str:
        """Return the queries that one query shares steps with."""
        queries = paths[0] if len(paths) == 1 else sorted({q for path in paths for q in path})
        first = islice((q for q in queries if q != number), _MOST_NAMES)
        return _some([self.names[q] for q in first], len(queries) - (number in queries))


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


class SharedSlicePlans(SlicePlans, Protocol):
    """Chooses the shared plan of each slice of several queries."""

    def compiled(self, branches: Branches) -> CompiledQuery | None:
        """Return the queries compiled under a plan that a slice ran; None for the whole's."""
        ...


class Follow(Protocol):
    """How the plans of several queries follow a stream."""

    def together(self, whole: SharedPlan, names: Sequence[str], sets: Sets) -> SharedSlicePlans:
        """Return what plans the slices of some of the queries, which run together."""
        ...

    def alone(self, query: Query, plan: Plan, sets: Sets) -> SlicePlans | None:
        """Return what plans the slices of one query."""
        ...


class SeveralMatches(SeveralResults[Matches]):
    """The matches of several queries in a local stream, each under its name or number."""

    def __init__(
        self, stream: Stream, queries: Mapping[str, Query], *args: Any, **options: Any
    ) -> None:
        super().__init__(stream, queries, *args, **options)
        self._running: tuple[int, Detector] | None = None
        read = {name for group in self.groups for name in group.query.attributes}
        read.update(name for query in self.queries for name in query.computed_from)
        columns = stream.columns(sorted(read))
        # Each query takes rows from it.
        self._columns = replace(columns, carried=columns.source.combine_chunks())
        report(columns, *self.queries)

    @property
    def events(self) -> int:
        """The number of events to search."""
        return len(self._columns)

    @property
    def _slice_rows(self) -> int | None:
        return self.options.get("slice_rows")

    def _find(self, number: int) -> Matches:
        query, plan, follow = self.queries[number], self.plans[number], self._follow
        return Matches(
            self.stream,
            query,
            plan,
            limit=self.limit,
            sets=self.sets,
            slice_rows=self._slice_rows,
            columns=self._columns,
            plans=None if follow is None else follow.alone(query, plan, self.sets),
        )

    @property
    def _follow(self) -> Follow | None:
        follow: Follow | None = self.options.get("follow")
        return follow

    def _detector(self, group: Group) -> tuple[Detector, SharedSlicePlans | None]:
        """Return a detector of a group, and what plans its slices."""
        plans = None
        one_way = group.query.chooses
        if self._follow is not None and self.plan is not None and not one_way:
            names = [self.names[q] for q in dict.fromkeys(group.of)]
            plans = self._follow.together(self.plan, names, self.sets)
        return Detector(group.query, slice_rows=self._slice_rows, plans=plans), plans

    def _count(self) -> Counted:
        sizes = [0] * len(self)
        counted: list[tuple[Group, Counters]] = []
        for number, group in enumerate(self.groups):
            detector, plans = self._detector(group)
            self._running = number, detector
            for program, block in detector.count(self._columns):
                sizes[group.of[program]] += block.size
            if plans is None or detector.work is None:
                counted.append((group, detector.counters))
                continue
            for branches, counters in detector.work.counters.items():
                query = plans.compiled(branches) or group.query
                counted.append((Group(query, group.of), counters))
        return sizes, counted

    def _searched(self) -> float | None:
        if self._running is None:
            return None
        number, detector = self._running
        reached = detector.reached / max(1, len(self._columns))
        return (number + reached) / len(self.groups) or None

    @cached_property
    def together(self) -> MatchesTogether:
        """The matches of all queries, with the name of the query in the column `pattern`."""
        return MatchesTogether(self)

    def blocks(self, *, limited: bool) -> Iterator[tuple[int, tuple[str, ...], Block]]:
        """Yield the number of a query, the variables that are bound, and some of its matches."""
        for group in self.groups:
            detector, _ = self._detector(group)
            for program, block in detector.matches(self._columns, limited=limited):
                yield group.of[program], group.query.programs[program].variables, block


class MatchesTogether(Rows):
    """The matches of several queries as one table.

    There is a column for each variable of any query, null where the query of a match has none of
    that name; a list of events where it is a Kleene variable of any of them.

    Args:
        several: The queries.
    """

    def __init__(self, several: SeveralMatches) -> None:
        self._several = several
        self.progress = several.progress
        source = several.stream.source
        self._file = source if isinstance(source, Path) else None
        merged: dict[str, pa.Field] = {}
        ends: list[pa.Field] = []
        check_alike(matches.schema for matches in several)
        for matches in several:
            *fields, start, end = matches.schema
            ends = [start, end]
            for field in fields:
                known = merged.get(field.name)
                if known is None or pa.types.is_list(field.type):
                    merged[field.name] = field
        names = pa.dictionary(pa.int32(), pa.string())
        self._schema = pa.schema([pa.field(PATTERN, names), *merged.values(), *ends])

    @property
    def schema(self) -> pa.Schema:
        """The columns: `pattern`, one for each variable, `match_start` and `match_end`."""
        return self._schema

    def _batches(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        several = self._several
        names = pa.array(several.names, pa.string())
        left: dict[int, int | None] = dict.fromkeys(range(len(several)), several.limit)
        all_left = most
        writers = [matches.writer() for matches in several]
        limited = most is not None or several.limit is not None
        for q, bound, block in several.blocks(limited=limited):
            if left[q] == 0:
                continue
            for batch in writers[q].batches(block, bound):
                limits = [n for n in (left[q], all_left) if n is not None]
                part = batch.slice(0, min(limits, default=len(batch)))
                left[q] = _less(left[q], len(part))
                all_left = _less(all_left, len(part))
                if len(part):
                    yield self._with_name(part, q, names)
            if all_left == 0 or all(n == 0 for n in left.values()):
                return

    def may_lack(self) -> frozenset[str]:
        """Return the flat columns in which values may be missing."""
        each = list(self._several)
        columns = [frozenset(flat_schema(one.schema).names) for one in each]
        partial = frozenset().union(*columns) - frozenset.intersection(*columns)
        return partial.union(*(matches.may_lack() for matches in each))

    def count(self) -> int:
        """Return the number of matches of all queries."""
        return int(self._several.counts().sum())

    def _with_name(self, batch: pa.RecordBatch, q: int, names: pa.Array) -> pa.RecordBatch:
        """Return matches of one query with the columns of all."""
        codes = pa.array([q] * len(batch), pa.int32())
        columns = [pa.DictionaryArray.from_arrays(codes, names)]
        for field in list(self._schema)[1:]:
            place = batch.schema.get_field_index(field.name)
            if place < 0:
                columns.append(pa.nulls(len(batch), field.type))
            elif pa.types.is_list(field.type) and not pa.types.is_list(batch.column(place).type):
                columns.append(_alone(batch.column(place), field.type))
            else:
                columns.append(batch.column(place))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _room(self, form: str, most: int | None = None) -> Room:
        return Room(
            "matches", form, expected.INSTEAD, lambda: expected.limited(self._expected(), most)
        )

    def _expected(self) -> Expected | None:
        total = self._several.known_total
        if total is not None:
            return expected.by_count(total)
        forecasts = [matches.forecast() for matches in self._several]
        known = [forecast for forecast in forecasts if forecast is not None]
        if len(known) < len(forecasts):
            return None
        rows = sum(forecast.rows for forecast in known)
        doubt = max(forecast.doubt for forecast in known)
        return Expected(rows, doubt, f"{whole(round(rows))} matches are expected")

    def __repr__(self) -> str:
        return f"{self._several.title} together: to_pandas(), to_arrow(), write_parquet(path)"


def _less(left: int | None, taken: int) -> int | None:
    return None if left is None else left - taken


def _alone(events: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return events as lists of one, null where there is none."""
    there = events.is_valid().to_numpy(zero_copy_only=False)
    starts = [0, *there.cumsum().tolist()]
    offsets = pa.array(starts, pa.int32())
    lists = pa.ListArray.from_arrays(offsets, events.filter(pa.array(there)), type=kind)
    return pa.ListArray.from_buffers(
        kind,
        len(events),
        [pa.array(there.tolist()).buffers()[1], lists.buffers()[1]],
        children=[lists.values],
    )


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
                _some(step.queries, len(step.queries)),
                whole(step.candidates),
                whole(step.survivors),
                whole(step.removed) if step.removed else "",
                f"{step.seconds:.3f}",
            )
            for step in self.steps
        ]


_STEP_HEAD = ("step", "queries", "candidates", "survivors", "removed by NOT", "seconds")


_MOST_NAMES = 4


def _some(names: Sequence[str], number: int) -> str:
    """Return some names, and how many more there are."""
    text = ", ".join(map(name_text, names[:_MOST_NAMES]))
    return text if number <= _MOST_NAMES else f"{text} and {number - _MOST_NAMES:,} more"


def _steps(
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
            yield from _steps(child, group, counters, names, end)


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
