"""A running query in a notebook: a table that follows it, and a button that stops it."""

from __future__ import annotations

import threading
from typing import Any

import ipywidgets

from cepkit.spark.streaming.watching import Watched, watch


class WatchWidget(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """A live table of a query's micro-batches, with a button that stops the query.

    Without a kernel, as in a saved notebook, it shows the table from when it was first shown.

    Args:
        query: The result of `.writeStream.start()`.
        seconds: The time between two updates.
        last: How many of the last rows of its sink to show: see `watch` of a stream's matches.

    Attributes:
        watched: The query and its progress.

    Example:
        >>> import tempfile
        >>> import cepkit as ck
        >>> from cepkit_widgets import WatchWidget
        >>> folder = tempfile.TemporaryDirectory()
        >>> recorded = ck.events(ck.sample_stocks(500), time="ts", type="ticker")
        >>> files = recorded.replay(f"{folder.name}/in", speed=10)
        >>> _ = files.put()
        >>> live = ck.events(files.frame(), time="ts", type="ticker", lateness="1 second")
        >>> pattern = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 second"
        >>> matches = ck.detect(live, pattern)
        >>> query = (
        ...     matches.writeStream.format("memory")
        ...     .queryName("rises")
        ...     .option("checkpointLocation", f"{folder.name}/state")
        ...     .trigger(availableNow=True)
        ...     .start()
        ... )
        >>> widget = WatchWidget(query)
        >>> _ = query.awaitTermination()
        >>> widget.watched.totals()["match"] > 0
        True
        >>> widget.close()
    """

    def __init__(self, query: Any, *, seconds: float = 1.0, last: int = 0) -> None:
        self.watched: Watched = watch(query, last=last)
        self._table = ipywidgets.HTML()
        self._stop = ipywidgets.Button(description="Stop the query", icon="stop")
        self._stop.on_click(self._stopped)
        self._seconds = seconds
        self._ended = threading.Event()
        super().__init__([self._table, self._stop])
        self.refresh()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def refresh(self) -> None:
        """Update the table."""
        active = bool(self.watched.query.isActive)
        self._table.value = self.watched._repr_html_()
        self._stop.disabled = not active
        if not active:
            self._ended.set()

    def close(self) -> None:
        """Stop updating; the query goes on."""
        self._ended.set()
        super().close()

    def _follow(self) -> None:
        while not self._ended.wait(self._seconds):
            self.refresh()

    def _stopped(self, _: Any) -> None:
        self._stop.disabled = True
        self.watched.stop()
        self.refresh()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        if isinstance(bundle, dict):
            bundle["text/html"] = self.watched._repr_html_()
        return bundle
