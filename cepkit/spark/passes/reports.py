"""Reports that tasks send as they finish, each counted once.

Each task reports once, when all that it makes has left it, under its number. A task that runs
again (a retry, a second action) reports under the same number, and the newer report replaces the
older one. A task that is broken off, as by `show()`, reports nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.accumulators import AccumulatorParam

from cepkit.columnar.compile.program import Program
from cepkit.columnar.slices.counters import Counters, counters_for
from cepkit.columnar.slices.plans import Branches, SliceWork, Work
from cepkit.pattern.query import Query
from cepkit.stream.columns import Dropped
from cepkit.stream.warnings import warn_of_dropped

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.core.context import SparkContext


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task did.

    Attributes:
        work: Summed over the task's cells; of aggregates none.
        dropped: The rows that are no events, as far as the task was told of them.
    """

    work: Work
    dropped: Dropped


ByTask = dict[int, TaskReport]


class _Latest(AccumulatorParam[ByTask]):
    """Keeps the last report of each task."""

    def zero(self, value: ByTask) -> ByTask:  # noqa: ARG002 - Spark's signature
        return {}

    def addInPlace(self, value1: ByTask, value2: ByTask) -> ByTask:  # noqa: N802
        value1.update(value2)
        return value1


class Reports:
    """The reports of the tasks of a pass, and a warning of rows that are no events: once.

    Args:
        context: Spark's.
        tasks: How many there are.
        reported: Whether the user knows of rows that are no events.

    Attributes:
        by_task: The reports so far, on the driver; tasks add theirs.
        reported: Whether the user knows.
    """

    def __init__(
        self, context: SparkContext, tasks: int, queries: Sequence[Query], *, reported: bool
    ) -> None:
        self.by_task: Accumulator[ByTask] = context.accumulator({}, _Latest())
        self.reported = reported
        self._tasks = tasks
        self._queries = queries

    @property
    def complete(self) -> bool:
        """Whether all tasks have reported."""
        return len(self.by_task.value) >= self._tasks

    @property
    def dropped(self) -> Dropped:
        """The rows that are no events, summed over the tasks."""
        return sum((report.dropped for report in self.by_task.value.values()), Dropped())

    def work(self, branches: Branches, programs: Sequence[Program]) -> SliceWork:
        """Return the work of each plan, summed over the tasks.

        Args:
            branches: The plan of the whole stream.
            programs: It, compiled.
        """
        total = SliceWork()
        for report in self.by_task.value.values():
            work = report.work
            total.add(work if isinstance(work, SliceWork) else SliceWork({branches: work}))
        if not total.counters:
            total.counters[branches] = counters_for(programs)
        return total

    def counters(self, programs: Sequence[Program]) -> Counters:
        """Return the counters of each branch where all tasks ran one plan, summed over them."""
        return self.work((), programs).counters[()]

    def warn(self) -> None:
        """Warn of rows that are no events once all tasks have reported, if there are any."""
        if not self.reported and self.complete:
            self.reported = True
            warn_of_dropped(self.dropped, *self._queries)
