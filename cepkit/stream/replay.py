"""A recorded stream played again, for teaching: files come into a folder as the events arrived."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cepkit.arguments import check_range
from cepkit.errors import StreamError
from cepkit.stream.columns import EventColumns
from cepkit.stream.lateness import as_microseconds


@dataclass(eq=False)
class Replay:
    """Files of events that come into a folder, in the order in which the events arrive.

    Attributes:
        files: The events of each file, in the order in which the files come.
        seconds: The time between two files.
        written: How many files have come.
    """

    folder: Path
    files: tuple[pa.Table, ...]
    seconds: float
    written: int = 0
    _latest: int = field(default=0, repr=False)
    _thread: threading.Thread | None = field(default=None, repr=False)
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def put(self, n: int | None = None) -> int:
        """Put the next files into the folder at once; return how many there were.

        Args:
            n: How many at most; None: all that are left.
        """
        until = len(self.files) if n is None else min(self.written + n, len(self.files))
        first = self.written
        while self.written < until:
            name = f"{self.written:06}.parquet"
            # Sources ignore hidden files: a file gets its own name only when it is complete.
            hidden = self.folder / f".{name}"
            pq.write_table(self.files[self.written], hidden)
            # Spark reads files in the order of their age, which it knows in milliseconds.
            self._latest = max(time.time_ns(), self._latest + 2_000_000)
            os.utime(hidden, ns=(self._latest, self._latest))
            hidden.rename(self.folder / name)
            self.written += 1
        return until - first

    def start(self) -> Replay:
        """Put a file into the folder every so often, in the background, until all have come."""
        if self._thread is None or not self._thread.is_alive():
            self._stop.clear()
            self._thread = threading.Thread(target=self._play, daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """Stop putting files into the folder."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _play(self) -> None:
        while self.put(1) and not self._stop.wait(self.seconds):
            pass

    def frame(self, session: Any = None) -> Any:
        """Return the folder as a streaming DataFrame, a file a micro-batch.

        Args:
            session: The Spark session; None: the one that is running, or a local one.
        """
        # As in `sessions`: Spark's part of cepkit stands above streams.
        replayed: Any = import_module("cepkit.spark.streaming.folder").replayed_frame
        return replayed(session, self.folder, self.files[0].schema)


def replay(
    columns: EventColumns,
    time_column: str,
    folder: Path,
    *,
    speed: float,
    disorder: str | timedelta,
    every: str | timedelta,
    seed: int,
) -> Replay:
    """Return the replay of events; see `replay` of a stream."""
    check_range("seed", seed, 0)
    if not speed > 0:
        raise StreamError(f"speed={speed:g}", expected="more than 0")
    delay = as_microseconds("disorder", disorder)
    length = max(1, as_microseconds("every", every))
    if not len(columns):
        raise StreamError("a stream without events cannot be played")
    if folder.exists() and any(folder.iterdir()):
        raise StreamError(
            f"the folder '{folder}' has files in it",
            expected="an empty folder, or none",
            hint="another folder keeps what is there",
        )
    folder.mkdir(parents=True, exist_ok=True)
    late = np.random.default_rng(seed).random(len(columns)) * delay
    arrival = columns.ts + late.astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    table = columns.source.take(pa.array(columns.source_rows(np.arange(len(columns)))[order]))
    at = table.schema.get_field_index(time_column)
    times = pa.array(columns.ts[order], pa.timestamp("us", tz="UTC"))
    table = table.set_column(at, time_column, times)
    ticks = (arrival[order] - arrival[order[0]]) // max(1, round(length * speed))
    ends = [*(np.flatnonzero(np.diff(ticks)) + 1).tolist(), len(table)]
    files = tuple(table.slice(b, e - b) for b, e in zip([0, *ends], ends, strict=False))
    return Replay(folder, files, length / 1e6)
