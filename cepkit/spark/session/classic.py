"""Access to a classic session: through py4j to the JVM; tasks report to accumulators."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic import dataframe as classic
from pyspark.sql.types import StructType

from cepkit.spark.session.tasks import Batches, Work, task_number

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator


@dataclass(frozen=True, slots=True)
class Classic:
    """A session with the JVM beside Python (see `access.Access`)."""

    def frame_class(self) -> type[DataFrame]:
        """Return the class of its DataFrames."""
        return classic.DataFrame

    def handle(self, frame: DataFrame) -> Any:
        """Return Java's DataFrame."""
        return frame._jdf  # noqa: SLF001 - Spark has no other way

    def cores(self, session: SparkSession) -> int:
        """Return the number of tasks that run at once."""
        cores: int = session.sparkContext.defaultParallelism
        return cores

    def reports(self, session: SparkSession) -> _Accumulated:
        """Return an empty collection of task reports."""
        return _Accumulated(session.sparkContext.accumulator({}, _Latest()))

    def relation(self, frame: DataFrame) -> Any:
        """Return Java's plan of a DataFrame: analyzed, with cached parts in place."""
        return self.handle(frame).queryExecution().withCachedData()

    def held(self, frame: DataFrame) -> int | None:
        """Return the number of rows if the JVM holds all of them, without a job; None if not."""
        plan = self.handle(frame).queryExecution().optimizedPlan()
        return plan.data().size() if plan.nodeName() == "LocalRelation" else None

    def is_shuffled(self, frame: DataFrame) -> bool:
        """Return whether rows come from a shuffle, so that their order may change each time."""
        execution = self.handle(frame).queryExecution()
        return "Exchange" in execution.executedPlan().toString()

    def kept(self, frame: DataFrame) -> DataFrame:
        """Materialise the output of a shuffle, so that it runs only once."""
        session = frame.sparkSession
        shuffled = self.handle(frame).javaRDD()  # without carrying the rows to Python
        java = session._jsparkSession.createDataFrame(  # noqa: SLF001
            shuffled, self.handle(frame).schema()
        )
        return classic.DataFrame(java, session)


class _Latest(AccumulatorParam[dict[int, Any]]):
    """Keeps the last report of each task."""

    def zero(self, value: dict[int, Any]) -> dict[int, Any]:  # noqa: ARG002 - Spark's signature
        return {}

    def addInPlace(self, value1: dict[int, Any], value2: dict[int, Any]) -> dict[int, Any]:  # noqa: N802
        value1.update(value2)
        return value1


@dataclass(frozen=True, slots=True)
class _Accumulated:
    """Reports in an accumulator (see `access.TaskReports`)."""

    accumulator: Accumulator[dict[int, Any]]

    def rows(self, source: DataFrame, work: Work, columns: StructType) -> DataFrame:
        accumulator = self.accumulator  # capture only this for tasks

        def run(batches: Batches) -> Generator[pa.RecordBatch]:
            report = yield from work(batches)
            accumulator.add({task_number(): report})

        return source.mapInArrow(run, columns)

    @property
    def by_task(self) -> Mapping[int, Any]:
        return self.accumulator.value
