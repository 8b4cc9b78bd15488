"""Access to a Spark Connect session: a server, without access to the JVM.

A task's report follows its rows as an extra row with all other columns empty. The server observes
these rows, removes them, and returns the observed reports to any action, `write` as well as
`collect`. The client does not expose the origin of a DataFrame, so tasks never read its files
directly.
"""

from __future__ import annotations

import base64
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark import StorageLevel, cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as t
from pyspark.sql.connect import dataframe as connect
from pyspark.sql.connect.observation import Observation

from cepkit.spark.session.tasks import Batches, Work, pickled, task_number

_REPORT = "\0report"
"""The column of reports; no stream has such a name."""

_cores: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Connect:
    """A session through a server (see `access.Access`)."""

    def frame_class(self) -> type[DataFrame]:
        """Return the class of its DataFrames."""
        return connect.DataFrame

    def handle(self, frame: DataFrame) -> Any:
        """Return the client's plan."""
        return frame._plan  # noqa: SLF001 - Spark has no other way

    def cores(self, session: SparkSession) -> int:
        """Return the number of tasks that run at once, found by one job for each session."""
        if session not in _cores:
            # By default a range has one partition for each core.
            parts = session.range(1 << 20).select(F.spark_partition_id().alias("part"))
            _cores[session] = int(parts.agg(F.max("part")).collect()[0][0]) + 1
        return _cores[session]

    def reports(self, session: SparkSession) -> _Observed:  # noqa: ARG002 - see `Access`
        """Return an empty collection of task reports."""
        return _Observed()

    def relation(self, frame: DataFrame) -> None:
        """Return None: the plan is not accessible."""

    def held(self, frame: DataFrame) -> None:
        """Return None: the client does not know which rows the server holds."""

    def is_shuffled(self, frame: DataFrame) -> bool:
        """Return whether rows come from a shuffle, so that their order may change each time."""
        return "Exchange" in frame._explain_string()  # type: ignore[operator]  # noqa: SLF001

    def kept(self, frame: DataFrame) -> DataFrame:
        """Materialise the output of a shuffle, so that it runs only once."""
        return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)


@dataclass(frozen=True, slots=True)
class _Observed:
    """Reports in rows that the server observes (see `access.TaskReports`)."""

    known: dict[int, Any] = field(default_factory=dict)
    observations: list[Observation] = field(default_factory=list)

    def rows(self, source: DataFrame, work: Work, columns: t.StructType) -> DataFrame:
        with_report = t.StructType([*columns.fields, t.StructField(_REPORT, t.BinaryType())])
        schema = _arrow_schema(source.sparkSession, with_report)

        def run(batches: Batches) -> Generator[pa.RecordBatch]:
            report: Any = None

            def watched() -> Batches:
                nonlocal report
                report = yield from work(batches)

            for batch in watched():
                none = pa.nulls(batch.num_rows, pa.binary())
                yield pa.RecordBatch.from_arrays([*batch.columns, none], names=schema.names)
            packed = pa.array([pickled({task_number(): report})], pa.binary())
            nothing = [pa.nulls(1, one.type) for one in schema][:-1]
            yield pa.RecordBatch.from_arrays([*nothing, packed], names=schema.names)

        observation: Any = Observation()
        report = F.col(f"`{_REPORT}`")
        self.observations.append(observation)
        # One text, because the client does not receive every observed type.
        packed = F.array_join(F.collect_list(F.base64(report)), ",").alias("reports")
        made = source.mapInArrow(run, with_report).observe(observation, packed)
        return made.where(report.isNull()).drop(report)

    @property
    def by_task(self) -> Mapping[int, Any]:
        for observation in self.observations:
            for text in observation.get.get("reports", "").split(","):
                if text:
                    # The output of a task.
                    self.known.update(cloudpickle.loads(base64.b64decode(text)))
        return self.known


def _arrow_schema(session: SparkSession, columns: t.StructType) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    large = session.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
    return to_arrow_schema(columns, timezone="UTC", prefers_large_types=large == "true")
