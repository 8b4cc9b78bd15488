"""A pattern run over a whole stream, with progress, until it is done or stopped."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from time import monotonic
from typing import Any

from cepkit import detect
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.slices.cutting import ADAPTED_ROWS, WINDOWS_PER_SLICE
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.stream.stream import Stream
from cepkit_widgets.kit.work import Work

_SLICES = 100
"""The number of steps of progress, if windows are short enough."""


class Running:
    """A count of all matches of a stream, in the background.

    Attributes:
        query: The pattern.
        matches: The result of `detect`; None before the start.
        count: The number of matches, at the end.
        error: The error, if any; a KeyboardInterrupt after a stop.
        seconds: How long it took.

    Args:
        stream: The whole stream.
        query: The pattern.
        done: Called at the end.
    """

    def __init__(self, stream: Stream, query: Query, done: Callable[[], None]) -> None:
        self.query = query
        self.matches: Any = None
        self.count: int | None = None
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._stream, self._ended = stream, done
        self._group = f"cepkit-{uuid.uuid4()}"
        self._began = monotonic()
        self._work = Work(self._run, self._done)

    @property
    def running(self) -> bool:
        """Whether it is still running."""
        return self._work.running

    @property
    def share(self) -> float | None:
        """The finished share; None if unknown."""
        if isinstance(self.matches, Matches):
            return self.matches.searched or None
        if self.matches is None or self._stream.place == "local":
            return None
        from cepkit.spark.session.progress import tasks_of

        done, total = tasks_of(self._group)
        return done / total if total else None

    @property
    def elapsed(self) -> float:
        """The seconds since it began, or that it took."""
        return monotonic() - self._began if self.running else self.seconds

    def stop(self) -> None:
        """Stop it, including Spark jobs."""
        self._work.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is done; return whether it is."""
        return self._work.wait(seconds)

    def _run(self) -> int:
        if self._stream.place == "local":
            found = detect(self._stream, self.query)
            assert isinstance(found, Matches)
            rows = slice_rows(found)
            # Shorter slices than usual, because progress advances with each.
            self.matches = Matches(
                self._stream, self.query, found.plan, columns=found.columns, slice_rows=rows
            )
            return int(self.matches.count())
        from cepkit.spark.session.progress import run_with_progress

        def count() -> int:
            self.matches = detect(self._stream, self.query)
            return int(self.matches.count())

        return run_with_progress(count, "pattern editor", progress=False, group=self._group)

    def _done(self, result: Any, error: BaseException | None) -> None:
        self.seconds = monotonic() - self._began
        self.count, self.error = result, error
        self._ended()


def slice_rows(matches: Matches) -> int | None:
    """Return how many events a slice has: many slices, but little overlap of windows.

    Args:
        matches: Of the whole stream.
    """
    window, ts = matches.query.window, matches.columns.ts
    if not isinstance(window, TimeWindow) or len(ts) < 2:
        return None
    in_window = len(ts) * window.microseconds / max(1, int(ts[-1] - ts[0]))
    return max(ADAPTED_ROWS, len(ts) // _SLICES, round(WINDOWS_PER_SLICE * in_window))
