"""Where the matches of several queries are found: in memory, all in one pass, or in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import pyarrow as pa

from cepkit.columnar.compile.program import Counters
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.results import expected
from cepkit.columnar.results.flat import flat_schema
from cepkit.columnar.results.in_pieces import matches_in
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import Writer, check_alike
from cepkit.columnar.results.reports import report
from cepkit.columnar.results.rows import Rows
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.plans import Branches, SlicePlans
from cepkit.columnar.workload import Group, group_of_one, grouped
from cepkit.memory import Expected, Room
from cepkit.pattern.query import Query
from cepkit.pattern.several import PATTERN
from cepkit.plan.nodes import Plan
from cepkit.progress import Progress, showing
from cepkit.sharing.shared_plan import SharedPlan, Sharing
from cepkit.stream.stream import Stream
from cepkit.tables import count_text, whole
from cepkit.threads import limited_to, number_of_threads, threads_asked

Result = TypeVar("Result")

Counted: TypeAlias = "tuple[Sequence[int], Sequence[tuple[Group, Counters]]]"
"""The number of matches of each query, and the counters of each group; where slices have plans of
their own, of each group under each of its plans."""


@dataclass(frozen=True, eq=False, slots=True)
class Planned:
    """Queries with their plans, compiled into the groups that run together.

    Attributes:
        names: Their names.
        plan: The shared plan; None where each was given its own plan.
        plans: The plan of each.
        groups: The queries that run together.
        limit: The most matches of each, None for all.
        sets: Which sets of Kleene variables make matches.
    """

    names: tuple[str, ...]
    queries: tuple[Query, ...]
    plan: SharedPlan | None
    plans: tuple[Plan, ...]
    groups: tuple[Group, ...]
    limit: int | None
    sets: Sets

    @classmethod
    def of(
        cls,
        queries: Mapping[str, Query],
        plans: SharedPlan | Sequence[Plan],
        limit: int | None,
        sets: Sets,
        *,
        share: bool,
    ) -> Self:
        """Return queries compiled; see `SeveralMatches`."""
        sharing = Sharing.of(plans)
        compiled = [
            compile_query(query, plan, sets, late)
            for query, plan, late in zip(queries.values(), sharing.plans, sharing.late, strict=True)
        ]
        groups = grouped(compiled, share=share, pools=sharing.pools)
        plan = plans if isinstance(plans, SharedPlan) else None
        asked = tuple(queries.values())
        return cls(tuple(queries), asked, plan, sharing.plans, groups, limit, sets)

    @property
    def title(self) -> str:
        """A short description of the matches."""
        return f"Matches of {count_text(len(self.names), 'query', 'queries')}"

    def limited(self, numbers: Sequence[int]) -> list[int]:
        """Return numbers of matches up to the limit."""
        return [n if self.limit is None else min(n, self.limit) for n in numbers]


class Place(ABC, Generic[Result]):
    """Where the matches of queries are found: in this process, or by Spark."""

    def __init__(self, stream: Stream, planned: Planned) -> None:
        self.stream, self.planned = stream, planned
        self._threads = threads_asked()
        self._each: dict[int, Result] = {}
        self._counted: Counted | None = None

    def find(self, number: int) -> Result:
        """Return the matches of one query."""
        if number not in self._each:
            planned = self.planned
            with limited_to(self._threads):
                self._each[number] = self._matches(
                    planned.queries[number], planned.plans[number], planned.limit, planned.sets
                )
        return self._each[number]

    def counted(self, progress: Progress, *, anew: bool = False) -> Counted:
        """Return the number of matches of each query and the counters of each group.

        Args:
            progress: Whether to show a bar.
            anew: Make another run in any case.
        """
        if anew or self._counted is None:
            self._counted = self._count(progress)
        return self._counted

    @property
    def known(self) -> Sequence[int] | None:
        """The number of matches of each query; None if not counted yet."""
        return None if self._counted is None else self._counted[0]

    @abstractmethod
    def _matches(self, query: Query, plan: Plan, limit: int | None, sets: Sets) -> Result:
        """Return the matches of a query."""

    @abstractmethod
    def _count(self, progress: Progress) -> Counted:
        """Count all matches; see `counted`."""

    @abstractmethod
    def together(self) -> Any:
        """Return the matches of all queries as one table."""


class SharedSlicePlans(SlicePlans, Protocol):
    """Chooses the shared plan of each slice of several queries."""

    def compiled(self, branches: Branches) -> CompiledQuery | None:
        """Return the queries compiled under a plan that a slice ran; None for the whole's."""
        ...


class Follow(Protocol):
    """How the plans of several queries follow a stream."""

    def together(self, whole: SharedPlan, names: Sequence[str], sets: Sets) -> SharedSlicePlans:
        """Return the planner of slices for queries that run together."""
        ...

    def alone(self, query: Query, plan: Plan, sets: Sets) -> SlicePlans | None:
        """Return the planner of slices for one query."""
        ...


class InMemory(Place[Matches]):
    """The events of this process as the place where queries' matches are found.

    Args:
        slice_rows: Events of a slice; None: chosen from the window.
        follow: How plans follow the stream; None: not at all.
    """

    def __init__(
        self,
        stream: Stream,
        planned: Planned,
        *,
        slice_rows: int | None = None,
        follow: Follow | None = None,
    ) -> None:
        super().__init__(stream, planned)
        self._slice_rows, self._follow = slice_rows, follow
        self._running: tuple[int, Detector] | None = None
        read = {name for group in planned.groups for name in group.query.attributes}
        read.update(name for query in planned.queries for name in query.computed_from)
        columns = stream.columns(sorted(read))
        # Each query takes rows from it.
        self.columns = replace(columns, carried=columns.source.combine_chunks())
        report(columns, *planned.queries)

    def _matches(self, query: Query, plan: Plan, limit: int | None, sets: Sets) -> Matches:
        follow = None if self._follow is None else self._follow.alone(query, plan, sets)
        return Matches(
            self.stream, query, plan, limit=limit, sets=sets,
            slice_rows=self._slice_rows, columns=self.columns, plans=follow,
        )  # fmt: skip

    def _count(self, progress: Progress) -> Counted:
        with showing("counting matches", progress, self._searched):
            return self._counted_by_group()

    def together(self) -> Rows:
        """Return the matches of all queries, with the name of the query in column `pattern`."""
        return _Together(self)

    def batches(
        self, writers: Sequence[Writer], *, limited: bool
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the number of a query and some of its matches."""
        for group in self.planned.groups:

            def make(number: int, block: Block, group: Group = group) -> Iterator[pa.RecordBatch]:
                variables = group.query.programs[number].variables
                return iter(writers[group.of[number]].batches(block, variables))

            detector, _ = self._detector(group)
            for program, batch in detector.made(make, self.columns, limited=limited):
                yield group.of[program], batch

    def _detector(self, group: Group) -> tuple[Detector, SharedSlicePlans | None]:
        """Return the detector of a group, and the planner of its slices."""
        plans = None
        whole = self.planned.plan
        if self._follow is not None and whole is not None and not group.query.chooses:
            names = [self.planned.names[q] for q in dict.fromkeys(group.of)]
            plans = self._follow.together(whole, names, self.planned.sets)
        with limited_to(self._threads):
            threads = number_of_threads()
        detector = Detector(group.query, slice_rows=self._slice_rows, plans=plans, threads=threads)
        return detector, plans

    def _counted_by_group(self) -> Counted:
        sizes = [0] * len(self.planned.queries)
        counted: list[tuple[Group, Counters]] = []
        for number, group in enumerate(self.planned.groups):
            detector, plans = self._detector(group)
            self._running = number, detector
            for program, some in detector.count(self.columns):
                sizes[group.of[program]] += some
            if plans is None or detector.work is None:
                counted.append((group, detector.counters))
                continue
            for branches, counters in detector.work.counters.items():
                query = plans.compiled(branches) or group.query
                counted.append((Group(query, group.of), counters))
        return sizes, counted

    def _searched(self) -> float | None:
        """Return the share of events searched so far; None if unknown."""
        if self._running is None:
            return None
        number, detector = self._running
        reached = detector.reached / max(1, len(self.columns))
        return (number + reached) / len(self.planned.groups) or None


class _Together(Rows):
    """The matches of several queries as one table.

    There is a column for each variable of any query, null where the query of a match has none of
    that name; a list of events where it is a Kleene variable of any of them.
    """

    def __init__(self, here: InMemory) -> None:
        self._here, self._planned = here, here.planned
        self._each = [here.find(number) for number in range(len(here.planned.queries))]
        source = here.stream.source
        self._file = source if isinstance(source, Path) else None
        merged: dict[str, pa.Field] = {}
        ends: list[pa.Field] = []
        check_alike(matches.schema for matches in self._each)
        for matches in self._each:
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
        limit, names = self._planned.limit, pa.array(self._planned.names, pa.string())
        left: dict[int, int | None] = dict.fromkeys(range(len(self._each)), limit)
        all_left = most
        writers = [matches.writer() for matches in self._each]
        limited = most is not None or limit is not None
        for q, batch in self._here.batches(writers, limited=limited):
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
        columns = [frozenset(flat_schema(one.schema).names) for one in self._each]
        partial = frozenset().union(*columns) - frozenset.intersection(*columns)
        return partial.union(*(matches.may_lack() for matches in self._each))

    def count(self) -> int:
        """Return the number of matches of all queries."""
        return sum(self._planned.limited(self._here.counted(self.progress)[0]))

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
        known = self._here.known
        if known is not None:
            return expected.by_count(sum(self._planned.limited(known)))
        forecasts = [matches.forecast() for matches in self._each]
        certain = [forecast for forecast in forecasts if forecast is not None]
        if len(certain) < len(forecasts):
            return None
        rows = sum(forecast.rows for forecast in certain)
        doubt = max(forecast.doubt for forecast in certain)
        return Expected(rows, doubt, f"{whole(round(rows))} matches are expected")

    def __repr__(self) -> str:
        return f"{self._planned.title} together: to_pandas(), to_arrow(), write_parquet(path)"


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


class InFiles(InMemory):
    """Files that need not fit into memory as the place where queries' matches are found.

    Each query reads them by itself.
    """

    def __init__(self, stream: Stream, planned: Planned) -> None:
        Place.__init__(self, stream, planned)
        self._running = None

    def _matches(self, query: Query, plan: Plan, limit: int | None, sets: Sets) -> Matches:
        return matches_in(self.stream, query, plan, limit=limit, sets=sets)

    def batches(
        self, writers: Sequence[Writer], *, limited: bool
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the number of a query and some of its matches."""
        del writers, limited  # the matches of each query have their own
        for number in range(len(self.planned.queries)):
            for batch in self.find(number).batches():
                yield number, batch

    def _counted_by_group(self) -> Counted:
        sizes, counted = list[int](), list[tuple[Group, Counters]]()
        for number in range(len(self.planned.queries)):
            query, size, counters = self.find(number)._complete()  # noqa: SLF001 - beside it
            sizes.append(size)
            counted.append((group_of_one(query, number), counters))
        return sizes, counted
