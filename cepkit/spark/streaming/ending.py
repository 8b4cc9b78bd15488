"""The end of a bounded stream: the rows that Spark's watermark never reaches.

After the last event of a source the watermark stays `lateness` behind it, so the last matches never
become certain. If no more events will come, they are found from the state that a query has left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from cepkit.arguments import typed
from cepkit.errors import StreamError
from cepkit.progress import Progress
from cepkit.spark.cells.dealing import Batches
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.session.progress import run_with_progress
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.checkpoints import readable
from cepkit.spark.streaming.explanation import StreamExplanation
from cepkit.spark.streaming.identity import Identity
from cepkit.spark.streaming.live import FOUND, found_rows
from cepkit.spark.streaming.result import StreamFrame
from cepkit.spark.streaming.searches import FAR
from cepkit.spark.streaming.state import from_bytes
from cepkit.spark.streaming.watching import LateEvents, Watched, watch

_FOUND = pa.schema([("kind", pa.string()), ("rows", pa.int64()), ("packed", pa.binary())])
_LOOK_SECONDS = 1


@typed
def run_to_end(
    rows: StreamFrame,
    out: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str],
    progress: Progress = "auto",
) -> ResultFrame:
    """Run a streaming query to the end of its source, and return all rows, the last ones too.

    It warns of late events, which are left out. Ctrl-C stops the query; it continues from its
    checkpoint.

    Args:
        rows: The result of `detect` or `aggregate` over a streaming DataFrame.
        out: The folder into which it writes Parquet files. It has the rows that are certain; if
            events are added to the source, a query goes on from the same checkpoint.
        checkpoint: The folder of its checkpoint.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Returns:
        A batch DataFrame: the rows in `out`, and those that are certain only if no more events
        come, which are in no file. `explain()` says what the query did in this run, and which
        events were late.

    Raises:
        StreamError: `rows` is no such result, the checkpoint belongs to another query, `out` has
            rows of another run, or the checkpoint cannot be read.

    Example:
        >>> import tempfile
        >>> import cepkit as ck
        >>> folder = tempfile.TemporaryDirectory()
        >>> recorded = ck.events(ck.sample_stocks(500), time="ts", type="ticker")
        >>> files = ck.replay(recorded, f"{folder.name}/in", speed=10)
        >>> _ = files.put()
        >>> live = ck.events(files.frame(), time="ts", type="ticker", lateness="1 second")
        >>> pattern = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 second"
        >>> matches = ck.detect(live, pattern)
        >>> found = ck.run_to_end(matches, f"{folder.name}/out", checkpoint=f"{folder.name}/state")
        >>> found.count() == ck.detect(recorded, pattern).count()
        True
    """
    if not isinstance(rows, StreamFrame):
        raise StreamError(
            f"a {type(rows).__name__} instead of a streaming DataFrame of matches",
            expected="what detect or aggregate gives of a streaming DataFrame",
        )
    out, checkpoint = str(Path(out).resolve()), str(Path(checkpoint).resolve())
    with readable(checkpoint):
        watching = _run(rows, out, checkpoint, progress)
        written = rows.sparkSession.read.schema(rows.schema).parquet(out)
        every = written.unionByName(rest(rows, checkpoint))
    watching.warn()
    explanation = rows.explain(watching)
    assert explanation is not None
    ended = ended_rows(every, checkpoint, explanation, watching.late)
    return ended.with_progress(progress)


def ended_rows(
    rows: DataFrame, checkpoint: str, explanation: StreamExplanation, late: LateEvents | None
) -> ResultFrame:
    """Return all rows of a streaming query whose source has ended, as a result.

    Args:
        checkpoint: The folder that is read for some of them.
        explanation: What the query did.
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


def _run(rows: StreamFrame, out: str, checkpoint: str, progress: Progress) -> Watched:
    """Run a query until it has read what is there; return what was seen of it."""
    writer = rows.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    queries: list[StreamingQuery] = []

    def run() -> Watched:
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

    return run_with_progress(run, "running the query", progress=progress, frame=rows, stop=stop)


def rest(rows: StreamFrame, checkpoint: str) -> DataFrame:
    """Return the rows that a query would still emit if all events had arrived."""
    session = rows.sparkSession
    if not (Path(checkpoint) / "state").exists():
        return session.createDataFrame([], rows.schema)
    states = (
        session.read.format("statestore")
        .load(checkpoint)
        .select("key.bucket", "value.groupState.*")
    )
    live = rows.live
    return live.rows(states.mapInArrow(Finishing(live.bucket, live.identity, live.numbers), FOUND))


@dataclass(frozen=True, slots=True)
class Finishing:
    """The rows that are left in the states of buckets.

    Attributes:
        bucket: The searches over the events of a bucket.
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
