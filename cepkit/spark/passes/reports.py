"""The reports of finished tasks (`session/access.py`), summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.columnar.compile.program import Program, counters_for
from cepkit.columnar.slices.plans import Branches, SliceWork, Work
from cepkit.pattern.query import Query
from cepkit.spark.session.access import TaskReports
from cepkit.stream.columns import Dropped
from cepkit.stream.warnings import warn_of_dropped


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The report of one task.

    Attributes:
        work: Counters summed over the task's cells; none for aggregates.
        dropped: The rows that are no events, as far as the task knows.
    """

    work: Work
    dropped: Dropped


class Reports:
    """The reports of a pass's tasks, with a single warning of rows that are no events.

    Args:
        reported: Whether the user knows of rows that are no events.

    Attributes:
        sent: The same.
        reported: Whether the user knows.
    """

    def __init__(
        self, sent: TaskReports, tasks: int, queries: Sequence[Query], *, reported: bool
    ) -> None:
        self.sent = sent
        self.reported = reported
        self._tasks = tasks
        self._queries = queries

    @property
    def complete(self) -> bool:
        """Whether all tasks have reported."""
        return len(self.sent.by_task) >= self._tasks

    @property
    def dropped(self) -> Dropped:
        """The rows that are no events, summed over the tasks."""
        return sum((report.dropped for report in self.sent.by_task.values()), Dropped())

    def work(self, branches: Branches, programs: Sequence[Program]) -> SliceWork:
        """Return the work of each plan, summed over the tasks."""
        total = SliceWork()
        for report in self.sent.by_task.values():
            work = report.work
            total.add(work if isinstance(work, SliceWork) else SliceWork({branches: work}))
        if not total.counters:
            total.counters[branches] = counters_for(programs)
        return total

    def warn(self) -> None:
        """Once all tasks have reported, warn of rows that are no events, if any."""
        if not self.reported and self.complete:
            self.reported = True
            warn_of_dropped(self.dropped, *self._queries)
