"""The matches of a query in a local stream: found on demand, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from cepkit.arguments import check_range, typed
from cepkit.columnar.compile.program import Counters, Program
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.kleene.limits import size_choice
from cepkit.columnar.parts import Make, held, sized
from cepkit.columnar.results import expected, shown
from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.flat import flat_columns, flat_name
from cepkit.columnar.results.frames import frame_of, records
from cepkit.columnar.results.gathered import gathered
from cepkit.columnar.results.output import MatchColumns, MatchedEvents, Writer
from cepkit.columnar.results.plans import AdaptedExplanation, PlansInForce, explanation_of
from cepkit.columnar.results.reports import report, warn_if_long
from cepkit.columnar.results.returned import may_lack
from cepkit.columnar.results.rows import Rows
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.plans import SlicePlans, SliceWork
from cepkit.lazy import pa, pd
from cepkit.memory import Expected, Room
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream
from cepkit.threads import limited_to, number_of_threads, threads_asked

T = TypeVar("T")

_SHOWN = 10


class Matches(Rows):
    """The matches of a query, found on demand.

    `batches`, `write_parquet` and iteration hold only some at a time. `to_arrow` and `to_pandas`
    hold all of them and refuse more than fit the memory. `len()` is `count()`.

    Attributes:
        limit: The most matches to find; None for all.
        sets: Which sets of Kleene variables make matches: "every" non-empty one, or "maximal":
            for each choice of the other events the largest, with the earliest events among equally
            large ones (if all variables are Kleene variables, for each first event).

    Args:
        slice_rows: Events of a slice; None: chosen from the window.
        attributes: Columns to load besides those that conditions read.
        columns: The events with all of these, if already loaded.
        plans: Chooses the plan of each slice; None: always `plan`.
    """

    def __init__(
        self,
        stream: Stream,
        query: Query,
        plan: Plan,
        *,
        limit: int | None = None,
        sets: Sets = "every",
        slice_rows: int | None = None,
        attributes: Iterable[str] = (),
        columns: EventColumns | None = None,
        plans: SlicePlans | None = None,
    ) -> None:
        self.query = query
        self.plan = plan
        self.limit = limit
        self.sets = sets
        self._slice_rows = slice_rows
        self._file = stream.source if isinstance(stream.source, Path) else None
        self._schema = stream.schema
        self._compiled = compile_query(query, plan, sets)
        self._programs = self._compiled.programs
        read = {*self._compiled.attributes, *query.computed_from, *attributes}
        self._columns = stream.columns(sorted(read)) if columns is None else columns
        check_kinds(query, self._columns.kinds)
        self._number: int | None = None
        self._slice_plans = plans
        self._threads = threads_asked()
        self._work: SliceWork | None = None
        self._chosen: Expected | None = None
        self._last: Detector | None = None
        if columns is None:
            report(self._columns, query)

    @cached_property
    def _rows(self) -> MatchColumns:
        """The columns of the matches."""
        return MatchColumns.of(self.query, self._schema)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the query, in the order of the pattern."""
        return self._rows.variables

    @property
    def _repeated(self) -> frozenset[str]:
        return self._rows.repeated

    @property
    def schema(self) -> pa.Schema:
        """The columns: a struct for each variable or those of RETURN, match_start, match_end."""
        return self._rows.schema(self._columns)

    @property
    def columns(self) -> EventColumns:
        """The events whose rows `blocks` refers to."""
        return self._columns

    @property
    def searched(self) -> float:
        """The share of events that the last (or current) run has searched.

        It advances with each slice; under skip-till-next-match it stays at zero.
        """
        return self._last.reached / max(1, len(self._columns)) if self._last is not None else 0.0

    def _searched(self) -> float | None:
        return self.searched or None

    def blocks(self) -> Iterator[tuple[Program, Block]]:
        """Yield the matches as rows of `columns` in batches, ignoring the `limit`.

        Raises:
            LimitError: There is no `limit`, and more sets than could be written.
        """
        return self._made(held, limited=self.limit is not None)

    def _batches(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        return self._written(self.writer(), most)

    def _written(self, writer: Writer, most: int | None) -> Iterator[pa.RecordBatch]:
        if self._limit(most) is not None:
            for bound in self._bound(writer, most):
                yield from writer.batches_of(bound)
            return

        def batches(number: int, block: Block) -> Iterable[pa.RecordBatch]:
            return writer.batches(block, self._programs[number].variables)

        for _, batch in self._made(batches, limited=False):
            yield batch

    def _bound(self, writer: Writer, most: int | None) -> Iterator[MatchedEvents]:
        """Yield the events of at most `most` matches, in parts."""
        left = self._limit(most)

        def events(number: int, block: Block) -> Iterable[MatchedEvents]:
            return (writer.bound(block, self._programs[number].variables),)

        for _, bound in self._made(events, limited=left is not None):
            some = bound
            if left is not None:
                some = bound.slice(0, left)
                left -= some.size
            if some.size:
                yield some
            if left == 0:
                return

    def _frame(self, most: int | None, *, nested: bool) -> pd.DataFrame:
        if nested:
            return super()._frame(most, nested=True)
        flat = flat_columns(self._rows, self._columns.schema.names)
        room = self._room("a DataFrame", most)
        with self._working("finding matches"):
            writer = Writer(self._columns, flat)
            return gathered(writer, self._bound(writer, most), room, self.may_lack())

    def _limit(self, most: int | None) -> int | None:
        """Return the number of matches to find; None for all."""
        return min((n for n in (most, self.limit) if n is not None), default=None)

    def may_lack(self) -> frozenset[str]:
        """Return the flat columns in which values may be missing."""
        everywhere = set(self.variables).intersection(
            *(self._rows.named(p.variables) for p in self._programs)
        )
        returned = self.query.returned
        if returned:
            lacking = {
                name
                for result in returned
                for _, name in attributes_of(result.value)
                if self._lacks(name)
            }
            return frozenset(r.name for r in returned if may_lack(r, lacking, everywhere))
        return frozenset(
            flat_name(variable, name)
            for variable in self.variables
            for name in self._columns.coded.column_names
            if variable not in everywhere or self._lacks(name)
        )

    def _lacks(self, name: str) -> bool:
        """Return whether some events may have no value of an attribute."""
        return self._columns.lacks(name)

    def writer(self) -> Writer:
        """Return the writer of rows from blocks."""
        return Writer(self._columns, self._rows)

    def count(self) -> int:
        """Return the number of matches, exactly, without building their rows.

        Sets of Kleene variables are counted without enumeration, unless conditions such as
        `avg(b.price) > a.price` or absences depend on them.

        Raises:
            LimitError: It would have to try too many sets.
        """
        if self._number is None:
            if self.limit is not None and not self._repeated:
                number = 0
                with self._working("counting matches"):
                    for _, some in self._made(sized, limited=True):
                        number += some
                        if number >= self.limit:
                            return self.limit
            else:
                warn_if_long([self.query], [self.plan])
                self._count_all()
        assert self._number is not None
        return self._number if self.limit is None else min(self._number, self.limit)

    def counts(self) -> pd.Series[int]:
        """Return the number of certain matches, and of those that are only possible.

        Without `clock_error=` all are certain.
        """
        return pd.Series({"certain": self.count(), "possible": 0}, name="matches")

    @typed
    def timeline(self, n: int = 50) -> pd.DataFrame:
        """Return the events of some `n` matches, one row for each event.

        Args:
            n: The most matches.

        Returns:
            Columns match (from 1), variable, ts, type and attributes (a dictionary of the
            event's other columns), in the order of match and time.
        """
        check_range("n", n, 0)
        room = self._room("a table of their events", n)
        room.copies = 3  # besides the frame, the table and its rows need memory
        writer = Writer(self._columns, self._rows.of_events)
        frame = frame_of(self._written(writer, n), writer.schema, room, nested=True)
        return shown.timeline(frame, self.variables, self._schema.time, self._schema.type)

    @typed
    def explain(self, *, anew: bool = False) -> Explanation | AdaptedExplanation:
        """Return the actual and expected numbers of each step of the plan.

        The numbers come from the last complete run; without one, a run is made. If slices had their
        own plans, there are steps for each plan, preceded by `plans`.

        Args:
            anew: Make another run in any case.
        """
        return explanation_of(self.query, self.plan, self._ran(anew=anew))

    @property
    def plans(self) -> PlansInForce:
        """Which plan was in force when, and why; from the last complete run, or a new one."""
        return PlansInForce.of(self.query, self.plan, self._ran())

    def _complete(self) -> tuple[CompiledQuery, int, Counters]:
        """Return the compiled query, the number of all its matches, and its counters, by a run."""
        self._count_all()
        assert self._work is not None
        assert self._number is not None
        return self._compiled, self._number, self._work.of(self.plan.branches, self._compiled)

    def _ran(self, *, anew: bool = False) -> SliceWork:
        """Return the work of the last complete run; without one, run now."""
        if self._work is None or anew:
            self._count_all()
        assert self._work is not None
        return self._work

    def _room(self, form: str, most: int | None = None) -> Room:
        return Room("matches", form, expected.INSTEAD, lambda: self.forecast(most))

    def forecast(self, most: int | None = None) -> Expected | None:
        """Return the expected number of matches, if known in advance.

        Args:
            most: The requested number; None for all.
        """
        if self.query.after_match is not None and self._number is None:
            return None
        number = self._chosen
        if self._number is not None:
            number = expected.by_count(self._number)
        elif not self._repeated:
            number = expected.by_forecast(self.query, self.plan)
        return expected.limited(number, self._limit(most))

    def _count_all(self) -> None:
        """Run over the whole stream just for the counters."""
        detector = self._detector()
        with self._working("counting matches"):
            self._number = sum(map(itemgetter(1), detector.count(self._columns)))
        self._work = self._done(detector)

    def _made(self, make: Make[T], *, limited: bool) -> Iterator[tuple[Program, T]]:
        """Yield programs and the results of `make`, which runs in the threads of the search."""
        detector, sizes = self._detector(), list[int]()

        def counted(number: int, block: Block) -> Iterable[T]:
            sizes.append(block.size)
            return make(number, block)

        for number, each in detector.made(counted, self._columns, limited=limited):
            if detector.size is not None:
                self._chosen = expected.by_sets(detector.size, size_choice(self._programs))
            yield self._programs[number], each
        # Only from a complete run: an interrupted one would mislead.
        self._work, self._number = self._done(detector), sum(sizes)

    def _detector(self) -> Detector:
        with limited_to(self._threads):
            self._last = Detector(
                self._compiled,
                slice_rows=self._slice_rows,
                plans=self._slice_plans,
                threads=number_of_threads(),
            )
        return self._last

    def _done(self, detector: Detector) -> SliceWork:
        """Return the work of a detector for each plan that it ran."""
        return detector.work or SliceWork({self.plan.branches: detector.counters})

    def __repr__(self) -> str:
        try:
            first = self._shown()
            return first.to_text(self._title(len(first.rows)))
        except Exception as error:  # noqa: BLE001 - a repr that raises hides the real problem
            return f"Matches: cannot be shown ({type(error).__name__})"

    def _repr_html_(self) -> str:
        try:
            first = self._shown()
            return first.to_html(self._title(len(first.rows)))
        except Exception as error:  # noqa: BLE001 - as above
            return f"<p>Matches: cannot be shown ({type(error).__name__})</p>"

    def _shown(self) -> shown.FirstMatches:
        """Return the first matches: the columns of RETURN, else the most telling attributes."""
        rows = records(self.first(_SHOWN))
        if self.query.returned:
            return shown.FirstMatches.of_columns(self.schema.names, rows)
        read = sorted({name for program in self._programs for name in program.columns})
        # Conditions may read columns that are not in the output.
        carried = [name for name in read if name in self._columns.source.column_names]
        roles = (self._schema.time, self._schema.type)
        attributes = dict.fromkeys(name for name in (*roles, *carried) if name is not None)
        return shown.FirstMatches.of_events(rows, self.variables, tuple(attributes))

    def _title(self, shown_rows: int) -> str:
        order = "; ".join(map(str, self.plan.branches))
        # It is unknown whether there are more than shown.
        number = f"the first {_SHOWN}:" if shown_rows == _SHOWN else f"all {shown_rows}:"
        rows = number if shown_rows else "there is none"
        return f"Matches of {', '.join(self.variables)} by the plan {order}; {rows}"
