"""Running queries, watched: what each micro-batch did, as a table that is up to date when shown."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from cepkit.errors import StreamError
from cepkit.printing import html_output, html_text
from cepkit.spark.streaming.live import KINDS, OBSERVED

_ROWS = 10
_LOOK_SECONDS = 0.5


@dataclass(eq=False)
class Watched:
    """A running query.

    What it shows is what is known when it is shown; the counts are those since it was first asked.

    Attributes:
        query: Spark's.
        batches: What its micro-batches did, by their number.
    """

    query: Any
    batches: dict[int, dict[str, Any]] = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """Return what each micro-batch did, one row for each.

        Columns: rows (read), watermark, seconds (it took), state_rows (buckets), state_bytes, and
        the counts: matches, late, ahead, no-time, no-type, events (of the pattern's types), looked
        (events looked at, those of windows again and again); plans, where they follow the stream.
        """
        for progress in self.query.recentProgress:
            self.batches[progress.batchId] = _row(progress)
        rows = [row for _, row in sorted(self.batches.items())]
        return pd.DataFrame(rows, index=pd.Index(sorted(self.batches), name="batch"))

    def totals(self) -> dict[str, int]:
        """Return the counts over all micro-batches that were seen."""
        table = self.table()
        return {kind: int(table[kind].sum()) for kind in KINDS if kind in table}

    def stop(self) -> None:
        """Stop the query; it goes on from its checkpoint when it is started again."""
        self.query.stop()

    def show(self, seconds: float | None = None) -> None:
        """Show it, up to date, until the query ends, so many seconds have passed, or Ctrl-C."""
        from IPython.display import display

        until = None if seconds is None else time.monotonic() + seconds
        shown = display(self, display_id=True)  # type: ignore[no-untyped-call]
        while self.query.isActive and (until is None or time.monotonic() < until):
            try:
                time.sleep(_LOOK_SECONDS)
            except KeyboardInterrupt:
                break
            if shown is not None:
                shown.update(self)

    def __repr__(self) -> str:
        return f"{self._summary()}\n{self._last().to_string()}"

    def _repr_html_(self) -> str:
        table = self._last().to_html(border=0)
        return html_output(f"<p>{html_text(self._summary())}</p>", table)

    def _last(self) -> pd.DataFrame:
        table = self.table().tail(_ROWS)
        return table.loc[
            :, [name for name in table if name not in (*KINDS, "plans") or table[name].any()]
        ]

    def _summary(self) -> str:
        state = "running" if self.query.isActive else "stopped"
        error = None if self.query.isActive else self.query.exception()
        if error is not None:
            state = f"failed: {str(error).splitlines()[0]}"
        counts = ", ".join(f"{kind} {n:,}" for kind, n in self.totals().items() if n)
        return f"Query {self.query.name or self.query.id}, {state}; {counts or 'nothing yet'}"


def watch(query: Any) -> Watched:
    """Watch a running query: what its micro-batches do, as a table that is up to date when shown.

    Args:
        query: What `.writeStream.start()` returns.

    Returns:
        What shows it, in a notebook and in a terminal: `show()` again and again, `table()` as a
        DataFrame, `stop()` ends the query.

    Raises:
        StreamError: It is no query.
    """
    if not hasattr(query, "recentProgress"):
        raise StreamError(
            f"a {type(query).__name__} instead of a running query",
            expected="what .writeStream.start() returns",
        )
    return Watched(query)


def _row(progress: Any) -> dict[str, Any]:
    observed = progress.observedMetrics.get(OBSERVED)
    counts = observed.asDict() if observed is not None else {}
    operators = progress.stateOperators
    event_time = dict(progress.eventTime or {})
    return {
        "rows": progress.numInputRows,
        "watermark": event_time.get("watermark"),
        "seconds": progress.durationMs.get("triggerExecution", 0) / 1000,
        "state_rows": operators[0].numRowsTotal if operators else 0,
        "state_bytes": operators[0].memoryUsedBytes if operators else 0,
        **{kind: counts.get(kind, 0) for kind in KINDS},
        "plans": " | ".join(sorted(counts.get("plans", ()))),
    }
