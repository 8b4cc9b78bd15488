"""Running queries, watched: the work of each micro-batch as a table, up to date when shown."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from cepkit.arguments import check_range
from cepkit.columnar.results.output import END
from cepkit.errors import StreamError
from cepkit.printing import Printed, html_output, html_text, time_text
from cepkit.spark.session.progress import run_with_progress
from cepkit.spark.streaming.live import KINDS, OBSERVED
from cepkit.stream.durations import duration_text
from cepkit.stream.warnings import warn_of_late
from cepkit.tables import count_text

_ROWS = 10
"""The number of micro-batches that are shown."""
_LOOK_SECONDS = 0.5
_RECORDED = 86_400
"""A watermark that is so many seconds behind the clock is that of a recorded stream."""
"""The time between two looks at a query."""


@dataclass(frozen=True, slots=True, repr=False)
class LateEvents(Printed):
    """The late events of some micro-batches.

    Attributes:
        events: Their number.
        first: The time of the earliest, in microseconds since 1970.
        last: The time of the latest.
        lateness: The lateness with which none would have been late, in microseconds.
    """

    events: int
    first: int
    last: int
    lateness: int

    def __str__(self) -> str:
        return (
            f"{count_text(self.events, 'late event')} left out, of {time_text(self.first)} to"
            f" {time_text(self.last)}: lateness='{duration_text(self.lateness)}' would have"
            " sufficed"
        )


@dataclass(eq=False)
class Watched:
    """A running query.

    It shows what is known when it is shown; the counts are over the micro-batches it has seen.

    Attributes:
        query: The query of Spark.
        shown: How many of the last rows of its sink are shown below.
        batches: The progress of its micro-batches, by their number.
        work: The work of the steps of its plans in each, as texts that `explanation` reads.
        lates: The late events of each that has some.
    """

    query: Any
    shown: int = 0
    batches: dict[int, dict[str, Any]] = field(default_factory=dict)
    work: dict[int, Sequence[str]] = field(default_factory=dict)
    lates: dict[int, LateEvents] = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """Return the progress and counts of micro-batches, one row for each.

        Columns: rows (read), rows_per_second, watermark, behind (seconds from the watermark to the
        begin of the micro-batch; missing for a stream of more than a day ago, which is recorded),
        seconds (it took), state_rows (buckets), state_bytes, and the
        counts: matches, late, ahead, no-time, no-type, events (of the pattern's types), looked
        (events looked at, those of windows again and again); plans, where they follow the stream.
        """
        for progress in self.query.recentProgress:
            counts = _observed(progress)
            self.batches[progress.batchId] = _row(progress, counts)
            self.work[progress.batchId] = counts.get("work", ())
            if counts.get("late"):
                self.lates[progress.batchId] = LateEvents(
                    counts["late"],
                    counts["late_first"],
                    counts["late_last"],
                    counts["lateness"] * 1_000,
                )
        rows = [row for _, row in sorted(self.batches.items())]
        return pd.DataFrame(rows, index=pd.Index(sorted(self.batches), name="batch"))

    def totals(self) -> dict[str, int]:
        """Return the counts over all micro-batches that were seen."""
        table = self.table()
        return {kind: int(table[kind].sum()) for kind in KINDS if kind in table}

    @property
    def late(self) -> LateEvents | None:
        """The late events of all micro-batches that were seen; None if there were none."""
        self.table()
        if not self.lates:
            return None
        return LateEvents(
            sum(one.events for one in self.lates.values()),
            min(one.first for one in self.lates.values()),
            max(one.last for one in self.lates.values()),
            max(one.lateness for one in self.lates.values()),
        )

    def last(self, n: int = 5) -> pd.DataFrame:
        """Return the rows of its sink that end last; all of the sink is read.

        Raises:
            StreamError: The sink cannot be read.
        """
        from pyspark.sql import SparkSession

        check_range("n", n, 1)
        progress = self.query.lastProgress
        sink = "none yet" if progress is None else progress.sink.description
        folder = re.fullmatch(r"FileSink\[(.*)\]", sink)
        if folder is None and sink != "MemorySink":
            raise StreamError(
                f"the last rows of the sink '{sink}'", expected="Parquet files, or a memory sink"
            )
        session = SparkSession.active()
        rows = session.read.parquet(folder[1]) if folder else session.table(self.query.name)
        names = [name for name in (END, "time", *rows.columns) if name in rows.columns]
        last = rows.orderBy(rows[names[0]].desc()).limit(n)
        return run_with_progress(last.toPandas, "reading the sink")

    def stop(self) -> None:
        """Stop the query, and warn if events were late.

        It continues from its checkpoint when it is started again.
        """
        self.query.stop()
        self.warn()

    def warn(self) -> None:
        """Warn of late events, if there were any."""
        if (late := self.late) is not None:
            warn_of_late(late)

    def show(self, seconds: float | None = None) -> None:
        """Show the state of the query until it ends, `seconds` have passed, or Ctrl-C.

        If the query ends, it warns of late events.
        """
        from IPython.display import display

        until = None if seconds is None else time.monotonic() + seconds
        # An interrupt must not reach a thread that talks to Java: the reply would stay unread.
        with ThreadPoolExecutor(1) as caller:

            def bundle() -> dict[str, str]:
                return caller.submit(
                    lambda: {"text/plain": repr(self), "text/html": self._repr_html_()}
                ).result()

            shown = display(bundle(), raw=True, display_id=True)  # type: ignore[no-untyped-call]
            with contextlib.suppress(KeyboardInterrupt):
                while until is None or time.monotonic() < until:
                    if not caller.submit(lambda: self.query.isActive).result():
                        break
                    time.sleep(_LOOK_SECONDS)
                    if shown is not None:
                        shown.update(bundle(), raw=True)
            late = caller.submit(lambda: None if self.query.isActive else self.late).result()
        if late is not None:
            warn_of_late(late)

    def __repr__(self) -> str:
        text = f"{self._summary()}\n{self._last().to_string()}"
        return text if not self._ending() else f"{text}\n{self.last(self.shown).to_string()}"

    def _repr_html_(self) -> str:
        table = self._last().to_html(border=0)
        last = self.last(self.shown).to_html(border=0) if self._ending() else ""
        return html_output(f"<p>{html_text(self._summary())}</p>", table, last)

    def _ending(self) -> bool:
        return bool(self.shown and self.totals().get("match"))

    def _last(self) -> pd.DataFrame:
        table = self.table().tail(_ROWS)
        if_any = (*KINDS, "plans", "behind")
        return table.loc[:, [name for name in table if name not in if_any or table[name].any()]]

    def _summary(self) -> str:
        state = "running" if self.query.isActive else "stopped"
        error = None if self.query.isActive else self.query.exception()
        if error is not None:
            state = f"failed: {str(error).splitlines()[0]}"
        return f"Query {self.query.name or self.query.id}, {state}; {self.counts}"

    @property
    def counts(self) -> str:
        """The counts over all micro-batches in words."""
        totals = self.totals()
        counts = ", ".join(f"{kind} {n:,}" for kind, n in totals.items() if n)
        if totals.get("looked") and totals.get("events"):
            counts += f"; each event looked at {totals['looked'] / totals['events']:.1f} times"
        if (late := self.late) is not None:
            counts += f"; {late}"
        return counts or "nothing yet"


def watch(query: Any, *, last: int = 0) -> Watched:
    """Return a running query, watched: see `watch` of a streaming DataFrame of matches.

    Args:
        query: The query that `.writeStream.start()` returns.
        last: How many of the last rows of its sink to show as well.

    Raises:
        StreamError: `query` is not a running query.
    """
    if not hasattr(query, "recentProgress"):
        raise StreamError(
            f"a {type(query).__name__} instead of a running query",
            expected="the result of .writeStream.start()",
        )
    check_range("last", last, 0)
    return Watched(query, last)


def watched(query: Any) -> Watched:
    """Return the watcher of a query, the existing one if it is watched already."""
    return query if isinstance(query, Watched) else watch(query)


def _observed(progress: Any) -> dict[str, Any]:
    observed = progress.observedMetrics.get(OBSERVED)
    return observed.asDict() if observed is not None else {}


def _row(progress: Any, counts: Mapping[str, Any]) -> dict[str, Any]:
    operators = progress.stateOperators
    watermark = dict(progress.eventTime or {}).get("watermark")
    behind = None
    if watermark is not None:
        away = (pd.Timestamp(progress.timestamp) - pd.Timestamp(watermark)).total_seconds()
        behind = away if away < _RECORDED else None
    return {
        "rows": progress.numInputRows,
        "rows_per_second": progress.processedRowsPerSecond,
        "watermark": watermark,
        "behind": behind,
        "seconds": progress.durationMs.get("triggerExecution", 0) / 1000,
        "state_rows": operators[0].numRowsTotal if operators else 0,
        "state_bytes": operators[0].memoryUsedBytes if operators else 0,
        **{kind: counts.get(kind, 0) for kind in KINDS},
        "plans": " | ".join(sorted(counts.get("plans", ()))),
    }
