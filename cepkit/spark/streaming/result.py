"""The matches of a streaming DataFrame: a streaming DataFrame that says what it will cost."""

from __future__ import annotations

from typing import cast

from pyspark.sql import DataFrame as AnyDataFrame
from pyspark.sql.classic.dataframe import DataFrame

from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.printing import html_output, html_text
from cepkit.spark.streaming.searches import Search
from cepkit.stream.durations import duration_text
from cepkit.stream.lateness import Lateness


class StreamMatches(DataFrame):
    """The matches as a streaming DataFrame: `writeStream` starts a query, in append mode.

    Attributes:
        query: What was asked.
        plan: How it is evaluated.
        window: How long events are kept, in microseconds.
    """

    def __init__(
        self,
        rows: AnyDataFrame,
        *,
        query: Query,
        plan: Plan,
        lateness: Lateness | None,
        search: Search,
        buckets: int,
    ) -> None:
        frame = cast("DataFrame", rows)
        super().__init__(frame._jdf, frame.sparkSession)  # noqa: SLF001 - Spark has no other way
        assert lateness is not None
        self.query = query
        self.plan = plan
        self.window = search.window
        self._lateness = lateness
        self._ahead = search.ahead
        self._buckets = buckets

    def __repr__(self) -> str:
        late, ahead = duration_text(self._lateness.late), self._ahead
        after = f"{late} and {duration_text(ahead)}" if ahead else late
        reason = " (the second as what must not be there may come so much later)" if ahead else ""
        order = "; ".join(map(str, self.plan.branches))
        kept = duration_text(self.window + ahead)
        buckets = f"{self._buckets} bucket{'' if self._buckets == 1 else 's'}"
        return f"""Matches of a streaming DataFrame by the plan {order}
  told {after} after their last event{reason}, and up to a trigger later
  kept: the events of {kept}, in {buckets}
  looked at, each: once and, with a trigger of L, another {kept} / L times
  .writeStream starts it"""

    def _repr_html_(self) -> str:
        return html_output(f"<pre>{html_text(repr(self))}</pre>")
