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
        self.delay = stream.lateness.late + max(each.ahead for each in live.bucket.searches)
        self.kept = max(each.window + each.ahead for each in live.bucket.searches)
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
        kept = duration_text(self.kept)
        buckets = f"{self.live.buckets} bucket{'' if self.live.buckets == 1 else 's'}"
        return f"""{self._described()}
  told {after} after their last event{reason}, and up to a trigger later
  kept: the events of {kept}, in {buckets}
  looked at, each: once and, with a trigger of L, another {kept} / L times
  .writeStream starts it; .trigger(processingTime="{self.usual_trigger}") is usual"""

    def _described(self) -> str:
        return f"{self.title} of a streaming DataFrame"

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
