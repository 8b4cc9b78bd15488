"""The scan of a Spark stream for one or several queries."""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.pattern.query import Query
from cepkit.spark.cells.layout import Cut
from cepkit.spark.cells.sending import Sending
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class Scan:
    """The columns that one pass reads of a Spark stream, and how it may cut it.

    Attributes:
        sending: The columns and rows that workers get.
        partition_by: The partition in which places are counted.
        seconds: The expected search time of one core.
    """

    stream: Stream
    queries: tuple[Query, ...]
    sending: Sending
    cut: Cut
    statistics: Statistics | None = None
    partition_by: tuple[str, ...] = ()
    seconds: float = 0.0
