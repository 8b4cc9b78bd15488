"""The end of a bounded stream: the rows that Spark's watermark never reaches.

After the last event of a source the watermark stays `lateness` behind it, so the last matches never
become certain. If no more events will come, they are found from the state that a query has left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from cepkit.progress import Progress
from cepkit.spark.cells.dealing import Batches
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.session.progress import run_with_progress
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.checkpoints import readable
from cepkit.spark.streaming.explanation import StreamExplanation
from cepkit.spark.streaming.live import FOUND, Live, found_rows
from cepkit.spark.streaming.searches import FAR
from cepkit.spark.streaming.state import Identity, from_bytes
from cepkit.spark.streaming.watching import LateEvents, Watched, watch

_FOUND = pa.schema([("kind", pa.string()), ("rows", pa.int64()), ("packed", pa.binary())])
_LOOK_SECONDS = 1


def ended_rows(
    rows: DataFrame, checkpoint: str, explanation: StreamExplanation, late: LateEvents | None
) -> ResultFrame:
    """Return all rows of a streaming query whose source has ended, as a result.

    Args:
        checkpoint: The folder that is read for some of them.
        late: The late events of this run, which were left out.
    """
    ended = ResultFrame(
        rows,
        title=explanation.title,
        route="with the rows that are certain only if no more events come",
        explanation=lambda: explanation,
        guard=lambda: readable(checkpoint),
    )
    ended.late = late
    return ended


def run(rows: DataFrame, out: str, checkpoint: str, progress: Progress) -> Watched:
    """Run a query until it has read all present input; return its progress."""
    writer = rows.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    queries: list[StreamingQuery] = []

    def start() -> Watched:
        query = writer.trigger(availableNow=True).start(out)
        queries.append(query)
        watching = watch(query)
        while not query.awaitTermination(_LOOK_SECONDS):
            watching.table()
        watching.table()
        return watching

    def stop() -> None:
        for query in queries:
            query.stop()

    return run_with_progress(start, "running the query", progress=progress, frame=rows, stop=stop)


def rest(rows: DataFrame, live: Live, checkpoint: str) -> DataFrame:
    """Return the rows that a query would still emit if all events had arrived."""
    session = rows.sparkSession
    if not (Path(checkpoint) / "state").exists():
        return session.createDataFrame([], rows.schema)
    states = (
        session.read.format("statestore")
        .load(checkpoint)
        .select("key.bucket", "value.groupState.*")
    )
    return live.rows(states.mapInArrow(Finishing(live.bucket, live.identity, live.numbers), FOUND))


@dataclass(frozen=True, slots=True)
class Finishing:
    """The rows that are left in the states of buckets.

    Attributes:
        identity: The identity of the query that the states belong to.
        numbers: The number of each bucket by its label.
    """

    bucket: Bucket
    identity: Identity
    numbers: Mapping[int, int]

    def __call__(self, batches: Batches) -> Batches:
        """Yield the rows of all buckets, packed."""
        self.bucket.sending.register()
        for batch in batches:
            for label, owner, complete, events in self._states(batch):
                self.identity.check(owner)
                number = self.numbers[label]
                state = from_bytes(self.bucket, events, complete)
                nothing = self.bucket.sending.fields.empty_table()
                for kind, rows, packed in found_rows(self.bucket.step(state, nothing, FAR, number)):
                    values = zip((kind, rows, packed), _FOUND.types, strict=True)
                    yield pa.RecordBatch.from_arrays(
                        [pa.array([value], kind) for value, kind in values], schema=_FOUND
                    )

    def _states(self, batch: pa.RecordBatch) -> Iterator[tuple[int, str, int, bytes]]:
        for row in batch.to_pylist():
            yield row["bucket"], row["owner"], row["complete"], row["events"]
