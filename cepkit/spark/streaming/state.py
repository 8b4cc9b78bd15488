"""The state of a bucket as bytes: its events as one Arrow message without its schema.

With it goes the identity of the query, so that no other query continues its checkpoint. State is
events, so another plan may continue with it. Another pattern, other columns, another
lateness or number of buckets may not: events were dropped, and distributed, in a way that is wrong
for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from cepkit.errors import LimitError, StreamError
from cepkit.printing import cut
from cepkit.spark.streaming.bucket import Bucket, Held, batch_of

FORMAT = 3
"""The version of the state. It changes when the contents of the state do."""

_WIDTH = 300
"""The most characters of a part in an error."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of the query that a checkpoint belongs to.

    Attributes:
        parts: Its parts by name, in words.
    """

    parts: Mapping[str, str]

    @property
    def text(self) -> str:
        """The same as a text, for the state."""
        return json.dumps({"format": str(FORMAT), **self.parts}, ensure_ascii=False)

    def check(self, owner: str) -> None:
        """Check that a state is of this query.

        Args:
            owner: The text in the state.

        Raises:
            StreamError: It is of another query.
        """
        if owner == self.text:
            return
        theirs, mine = json.loads(owner), json.loads(self.text)
        differing = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
        raise StreamError(
            f"the checkpoint belongs to another query: {_described(theirs, differing)}",
            expected=_described(mine, differing),
            hint="a query that has changed needs a new checkpointLocation and a new folder for"
            " its rows; the plan alone, and spark.sql.shuffle.partitions, may change",
        )


def _described(parts: Mapping[str, str], names: list[str]) -> str:
    return "; ".join(f"{name} {cut(parts.get(name, 'unknown'), _WIDTH)}" for name in names)


MOST_BYTES = 2**30
"""The most bytes of the events of a bucket: Spark keeps no value of more than twice as much."""


def to_bytes(held: Held, most: int = MOST_BYTES) -> bytes:
    """Return the events that a bucket holds as bytes; no bytes if it holds none.

    Raises:
        LimitError: They are too many.
    """
    if not len(held.events):
        return b""
    if held.events.nbytes > most:
        raise LimitError(
            f"a bucket would hold {len(held.events):,} events of the last window,"
            f" {held.events.nbytes:,} bytes",
            expected=f"at most {most:,} bytes",
            hint="SparkOptions(buckets=...), a shorter window, or fewer columns (events(...,"
            " columns=[...])); with a new checkpoint and a new folder",
        )
    message: bytes = batch_of(held.events).serialize().to_pybytes()
    return message


def from_bytes(
    bucket: Bucket, events: bytes, complete: int | None, plans: tuple[str, ...] = ()
) -> Held:
    """Return the state of a bucket."""
    if not events:
        return Held(bucket.fields.empty_table(), complete, plans)
    batch = pa.ipc.read_record_batch(pa.py_buffer(events), bucket.fields)
    return Held(pa.Table.from_batches([batch]), complete, plans)
