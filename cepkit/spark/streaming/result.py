"""Results over a streaming DataFrame: streaming DataFrames that know their delay and state."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pandas as pd
from pyspark.sql.classic.dataframe import DataFrame

from cepkit.arguments import typed
from cepkit.pattern.query import Query
from cepkit.pattern.several import ALONE
from cepkit.plan.nodes import Plan
from cepkit.printing import html_output, html_text
from cepkit.progress import Progress
from cepkit.routes.sharing import SharingPlan
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.streaming import ending
from cepkit.spark.streaming.checkpoints import Writer, readable
from cepkit.spark.streaming.explanation import Branch, StreamExplanation, steps_of, work_of_texts
from cepkit.spark.streaming.live import Live, run_buckets
from cepkit.spark.streaming.searches import MatchSearch
from cepkit.spark.streaming.watching import Watched, watch, watched
from cepkit.stream.durations import duration_text
from cepkit.stream.stream import Stream
from cepkit.tables import count_text


class StreamFrame(DataFrame):
    """A streaming DataFrame that emits each row once: `writeStream` starts a query.

    The rows of several patterns are in one, with the name of the pattern in the column `pattern`.

    Args:
        live: The streaming query, ready to run.
        sharing: The plan of the shared counters of several patterns.

    Attributes:
        title: The name of the rows: matches or aggregates.
        live: The streaming query.
        query: The query, of a single pattern.
        plan: The plan of a single pattern's matches, or that of the counters that several share.
        queries: The queries by their names; a single one is called "".
        plans: The plans of the matches, by the same names.
        delay: How long after its last event a row is emitted, not counting triggers, in
            microseconds.
        kept: How long events are kept, in microseconds.
    """

    query: Query
    plan: Plan | SharingPlan

    def __init__(
        self,
        stream: Stream,
        live: Live,
        title: str,
        queries: Mapping[str, Query],
        *,
        plans: Mapping[str, Plan] | None = None,
        sharing: SharingPlan | None = None,
    ) -> None:
        frame = cast("DataFrame", run_buckets(stream, live))
        super().__init__(frame._jdf, frame.sparkSession)  # noqa: SLF001 - Spark has no other way
        assert stream.lateness is not None
        self.live, self.title = live, title
        self.queries, self.plans = dict(queries), dict(plans or {})
        if (only := self.queries.get(ALONE)) is not None:
            self.query = only
        for plan in (sharing, self.plans.get(ALONE)):
            if plan is not None:
                self.plan = plan
        reaches = [search.reach for search in live.bucket.searches]
        self.delay = stream.lateness.late + max(reach.ahead for reach in reaches)
        self.kept = max(reach.window + reach.ahead for reach in reaches)
        self._counted = [reach.counted for reach in reaches if reach.counted is not None]
        self._late = stream.lateness.late

    @property
    def usual_trigger(self) -> str:
        """A trigger that looks at each event about twice: the window, 5 seconds at least.

        As in `.trigger(processingTime=rows.usual_trigger)`.
        """
        return f"{max(5, math.ceil(self.kept / 1e6))} seconds"

    @property
    def writeStream(self) -> Writer:  # noqa: N802 - Spark's name
        """Spark's writer, which refuses a folder and a checkpoint of different runs."""
        return Writer(self)

    @typed
    def watch(self, query: Any, *, last: int = 0) -> Watched:
        """Watch a running query: the work of its micro-batches as a table, up to date when shown.

        Args:
            query: The query that `writeStream.start()` returned.
            last: How many of the last rows of its sink to show as well: of Parquet files, or of a
                memory sink. Each time it is shown all of the sink is read.

        Returns:
            The watched query, for a notebook or a terminal: `show()` keeps it up to date, `table()`
            returns a DataFrame, `stop()` ends the query.

        Raises:
            StreamError: `query` is not a running query.

        Example:
            >>> import tempfile
            >>> import cepkit as ck
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
            >>> _ = query.awaitTermination()
            >>> matches.watch(query).totals()["match"] > 0
            True
        """
        return watch(query, last=last)

    @typed
    def run_to_end(
        self,
        out: str | os.PathLike[str],
        *,
        checkpoint: str | os.PathLike[str],
        progress: Progress = "auto",
    ) -> ResultFrame:
        """Run a query to the end of its source, and return all rows, the last ones too.

        It warns of late events, which are left out. Ctrl-C stops the query; it continues from its
        checkpoint.

        Args:
            out: The folder into which it writes Parquet files. It has the rows that are certain; if
                events are added to the source, a query goes on from the same checkpoint.
            checkpoint: The folder of its checkpoint.
            progress: "auto" for a bar where it takes more than two seconds; True, or False.

        Returns:
            A batch DataFrame: the rows in `out`, and those that are certain only if no more events
            come, which are in no file. `explain()` says what the query did in this run, and which
            events were late.

        Raises:
            StreamError: The checkpoint belongs to another query, `out` has rows of another run, or
                the checkpoint cannot be read.

        Example:
            >>> import tempfile
            >>> import cepkit as ck
            >>> folder = tempfile.TemporaryDirectory()
            >>> recorded = ck.events(ck.sample_stocks(500), time="ts", type="ticker")
            >>> files = recorded.replay(f"{folder.name}/in", speed=10)
            >>> _ = files.put()
            >>> live = ck.events(files.frame(), time="ts", type="ticker", lateness="1 second")
            >>> pattern = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 second"
            >>> matches = ck.detect(live, pattern)
            >>> rows = matches.run_to_end(f"{folder.name}/out", checkpoint=f"{folder.name}/state")
            >>> rows.count() == ck.detect(recorded, pattern).count()
            True
        """
        out, checkpoint = str(Path(out).resolve()), str(Path(checkpoint).resolve())
        with readable(checkpoint):
            watching = ending.run(self, out, checkpoint, progress)
            written = self.sparkSession.read.schema(self.schema).parquet(out)
            every = written.unionByName(ending.rest(self, self.live, checkpoint))
        watching.warn()
        explanation = self._explained(watching)
        ended = ending.ended_rows(every, checkpoint, explanation, watching.late)
        return ended.with_progress(progress)

    def explain(  # type: ignore[override]
        self, extended: bool | str | Watched | Any | None = None, mode: str | None = None
    ) -> StreamExplanation | None:
        """Return the work of a query: counts, late events, and each step of its plans.

        The expected work is that for as many rows of the recording from which the plan's statistics
        are. Only the counts include events that are looked at again because windows reach back.

        Args:
            extended: The query that `writeStream.start()` returned, or what `watch` returned
                for it, which remembers more micro-batches than Spark. Anything else as for any
                Spark DataFrame, whose own plan is printed.
            mode: As for any Spark DataFrame.
        """
        if not isinstance(extended, Watched) and not hasattr(extended, "recentProgress"):
            super().explain(extended, mode)
            return None
        return self._explained(watched(extended))

    def _explained(self, watching: Watched) -> StreamExplanation:
        rows = int(watching.table().get("rows", pd.Series(dtype=int)).sum())
        work = work_of_texts(text for texts in watching.work.values() for text in texts)
        batches = count_text(len(watching.work), "micro-batch", "micro-batches")
        title = f"{count_text(rows, 'row')} in {batches}: {watching.counts}"
        return StreamExplanation(title, steps_of(work, self._branches(), rows))

    def _branches(self) -> dict[int, list[Branch]]:
        """Return for each search with plans the branch of each of its programs."""
        named = list(self.plans.items())
        branches: dict[int, list[Branch]] = {}
        for number, search in enumerate(self.live.bucket.searches):
            if isinstance(search, MatchSearch):
                before: Counter[int] = Counter()
                branches[number] = []
                for q in search.group.of:
                    branches[number].append((*named[q], before[q]))
                    before[q] += 1
        return branches

    def __repr__(self) -> str:
        ahead = self.delay - self._late
        after = duration_text(self._late)
        if ahead:
            after += f" and {duration_text(ahead)}"
        by_start = any(search.reach.by_start for search in self.live.bucket.searches)
        why = "a match that starts earlier" if by_start else "a forbidden event"
        event = "first event" if by_start else "last event"
        reason = f" (the second because {why} may still come)" if ahead else ""
        return f"""{self._heading()}
  emitted {after} after their {event}{reason}, up to two triggers later in
    a bucket of few events
  state: {self._state_text()}, in {self._buckets()}
  each event is examined once and, with a trigger interval L, another {self._examined_again()}
  start it with .writeStream, usually with .trigger(processingTime="{self.usual_trigger}")"""

    def _heading(self) -> str:
        orders = {name: "; ".join(map(str, one.branches)) for name, one in self.plans.items()}
        of, alone = f"{self.title} of a streaming DataFrame", ALONE in self.queries
        if not alone:
            of = f"{self.title} of {count_text(len(self.queries), 'query', 'queries')}"
            of += " in a streaming DataFrame"
        if not orders:
            return f"{of}: columns {', '.join(self.columns)}" + ("" if alone else f"\n{self.plan}")
        if alone:
            return f"{of} by the plan {orders[ALONE]}"
        lines = [f"\n  {name}: by the plan {order}" for name, order in orders.items()]
        more = len(lines) - _MOST_SHOWN
        rest = f"\n  and {more} more" if more > 0 else ""
        return f"{of}{''.join(lines[:_MOST_SHOWN])}{rest}"

    def _state_text(self) -> str:
        last = max((each.last or 0 for each in self._counted), default=0)
        of_each = " of each partition" if any(each.partition_by for each in self._counted) else ""
        parts = [f"the events of {duration_text(self.kept)}"] if self.kept or not last else []
        parts += [f"the last {count_text(last, 'event')}{of_each}"] if last else []
        return f"{' and '.join(parts)}{', of all types' if self._counted else ''}"

    def _buckets(self) -> str:
        text = f"{self.live.buckets} bucket{'' if self.live.buckets == 1 else 's'}"
        slices = self.live.bucket.slices
        if slices is None:
            return text
        copies = min(1 + self.kept / slices.length, self.live.buckets)
        return f"{text} of slices of {duration_text(slices.length)}, each in about {copies:.1f}"

    def _examined_again(self) -> str:
        times = f"{duration_text(self.kept)} / L times"
        if any(each.last for each in self._counted):
            return f"{times}, the last of a partition each time" if self.kept else "time each time"
        return times

    def _repr_html_(self) -> str:
        return html_output(f"<pre>{html_text(repr(self))}</pre>")


_MOST_SHOWN = 20
"""The most plans of several queries that are printed."""
