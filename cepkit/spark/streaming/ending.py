"""The end of a bounded stream: the rows that Spark's watermark never reaches.

After the last event of a source the watermark stays `lateness` behind it, so the last matches never
become certain. If no more events will come, they are found from the state that a query has left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from cepkit.arguments import typed
from cepkit.errors import StreamError
from cepkit.progress import Progress, showing
from cepkit.spark.cells.dealing import Batches
from cepkit.spark.session.failures import plain_errors
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.identity import Identity
from cepkit.spark.streaming.live import FOUND, found_rows
from cepkit.spark.streaming.result import StreamFrame
from cepkit.spark.streaming.searches import FAR
from cepkit.spark.streaming.state import from_bytes
from cepkit.values import dataclass

_FOUND = pa.schema([("kind", pa.string()), ("rows", pa.int64()), ("packed", pa.binary())])


@typed
def run_to_end(
    rows: StreamFrame,
    out: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str],
    progress: Progress = "auto",
) -> DataFrame:
    """Run a streaming query to the end of its source, and return all rows, the last ones too.

    Args:
        rows: The result of `detect` or `aggregate` over a streaming DataFrame.
        out: The folder into which it writes Parquet files. It has the rows that are certain; if
            events are added to the source, a query goes on from the same checkpoint.
        checkpoint: The folder of its checkpoint.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Returns:
        A batch DataFrame: the rows in `out`, and those that are certain only if no more events
        come, which are in no file.

    Raises:
        StreamError: `rows` is no such result, or the checkpoint belongs to another query.

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
    writer = rows.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    with plain_errors(rows), showing("running the query", progress):
        writer.trigger(availableNow=True).start(out).awaitTermination()
    written: DataFrame = rows.sparkSession.read.schema(rows.schema).parquet(out)
    return written.unionByName(rest(rows, checkpoint))


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
