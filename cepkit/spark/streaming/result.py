"""What comes of a streaming DataFrame: a streaming DataFrame that says what it will cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from pyspark.sql.classic.dataframe import DataFrame

from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.printing import html_output, html_text
from cepkit.spark.streaming.live import Live, run_buckets
from cepkit.stream.durations import duration_text
from cepkit.stream.stream import Stream
from cepkit.tables import count_text


class StreamFrame(DataFrame):
    """A streaming DataFrame of rows that are told once: `writeStream` starts a query.

    Args:
        live: What is done with it.

    Attributes:
        title: What the rows are.
        live: What is done.
        delay: How long after its last event a row is told, a trigger aside, in microseconds.
        kept: How long events are kept, in microseconds.
    """

    title = "Rows"

    def __init__(self, stream: Stream, live: Live) -> None:
        frame = cast("DataFrame", run_buckets(stream, live))
        super().__init__(frame._jdf, frame.sparkSession)  # noqa: SLF001 - Spark has no other way
        assert stream.lateness is not None
        self.live = live
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

    def __repr__(self) -> str:
        ahead = self.delay - self._late
        after = duration_text(self._late)
        if ahead:
            after += f" and {duration_text(ahead)}"
        reason = " (the second as what must not be there may come so much later)" if ahead else ""
        return f"""{self._described()}
  told {after} after their last event{reason}, and up to a trigger later
  kept: {self._kept()}, in {self._buckets()}
  looked at, each: once and, with a trigger of L, another {self._again()}
  .writeStream starts it; .trigger(processingTime="{self.usual_trigger}") is usual"""

    def _described(self) -> str:
        return f"{self.title} of a streaming DataFrame"

    def _kept(self) -> str:
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

    def _again(self) -> str:
        times = f"{duration_text(self.kept)} / L times"
        if any(each.last for each in self._counted):
            return f"{times}, the last of a partition each time" if self.kept else "time each time"
        return times

    def _repr_html_(self) -> str:
        return html_output(f"<pre>{html_text(repr(self))}</pre>")


class StreamAggregates(StreamFrame):
    """Aggregates of matches in a streaming DataFrame.

    Attributes:
        query: What was asked.
    """

    title = "Aggregates"

    def __init__(self, stream: Stream, live: Live, query: Query) -> None:
        super().__init__(stream, live)
        self.query = query

    def _described(self) -> str:
        return f"{super()._described()}: columns {', '.join(self.columns)}"


class StreamMatches(StreamFrame):
    """Matches in a streaming DataFrame.

    Attributes:
        query: What was asked.
    """

    title = "Matches"

    def __init__(self, stream: Stream, live: Live, query: Query, plan: Plan) -> None:
        super().__init__(stream, live)
        self.query = query
        self.plan = plan

    def _described(self) -> str:
        return f"{super()._described()} by the plan {'; '.join(map(str, self.plan.branches))}"


class StreamSeveralMatches(StreamFrame):
    """Matches of several queries in a streaming DataFrame; the column `pattern` says of which.

    Attributes:
        queries: What was asked, by names.
    """

    title = "Matches"

    def __init__(
        self, stream: Stream, live: Live, queries: Mapping[str, Query], plans: Sequence[Plan]
    ) -> None:
        super().__init__(stream, live)
        self.queries = dict(queries)
        self.plans = dict(zip(queries, plans, strict=True))

    def _described(self) -> str:
        plans = [
            f"\n  {name}: by the plan {'; '.join(map(str, plan.branches))}"
            for name, plan in self.plans.items()
        ]
        more = len(plans) - _MOST_SHOWN
        rest = f"\n  and {more} more" if more > 0 else ""
        of = f"Matches of {len(plans)} {'query' if len(plans) == 1 else 'queries'}"
        return f"{of} in a streaming DataFrame{''.join(plans[:_MOST_SHOWN])}{rest}"


_MOST_SHOWN = 20
"""So many plans of several queries are printed."""
