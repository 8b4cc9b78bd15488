"""What the workers counted, gathered as they finish: no second pass, and nothing twice.

Each task reports once, when all of its matches have left it, under its number. A task that runs
again (a retry, a second action) reports under the same number, and the newer report replaces the
older one. A task that is broken off, as by `show()`, reports nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.accumulators import AccumulatorParam

from cepkit.columnar.compile.program import Program
from cepkit.columnar.detector import counters_for
from cepkit.columnar.slices.counters import StepCounters
from cepkit.stream.columns import Dropped

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.core.context import SparkContext


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task did.

    Attributes:
        steps: For each branch its steps, summed over the task's slices.
        dropped: The rows that are no events, as far as the task was told of them.
    """

    steps: tuple[tuple[StepCounters, ...], ...]
    dropped: Dropped


Reports = dict[int, TaskReport]


class _Latest(AccumulatorParam[Reports]):
    """Keeps the last report of each task."""

    def zero(self, value: Reports) -> Reports:  # noqa: ARG002 - Spark's signature
        return {}

    def addInPlace(self, value1: Reports, value2: Reports) -> Reports:  # noqa: N802
        value1.update(value2)
        return value1


def new_reports(context: SparkContext) -> Accumulator[Reports]:
    """Return an empty collection of reports that tasks can add to."""
    return context.accumulator({}, _Latest())


def total(
    reports: Reports, programs: Sequence[Program]
) -> tuple[tuple[tuple[StepCounters, ...], ...], Dropped]:
    """Return the counters of each branch and the dropped rows, summed over the tasks."""
    steps = counters_for(programs)
    dropped = Dropped()
    for report in reports.values():
        for branch, counted in zip(steps, report.steps, strict=True):
            for step, more in zip(branch, counted, strict=True):
                step.add(more)
        dropped += report.dropped
    return steps, dropped
