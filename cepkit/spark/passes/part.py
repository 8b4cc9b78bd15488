"""A part of a Spark stream's events that was fetched into this process, and their source rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from cepkit.stream.stream import Stream
from cepkit.tables import count_text

Types: TypeAlias = frozenset[str] | None
"""Event types; None for any."""

FETCHED = "fetched"


@dataclass(frozen=True, eq=False, slots=True)
class Part(Stream):
    """Events of a DataFrame as a stream in this process.

    Attributes:
        origin: How they came here, after their number.
        in_order: Whether the rows are in Spark's order.
    """

    origin: str = FETCHED
    in_order: bool = True


def searched_here(events: int, part: Stream) -> str:
    """Return the sentence that says how many events this process has searched."""
    return f"searched in this process, {count_text(events, 'event')} {origin_of(part)}"


def origin_of(part: Stream) -> str:
    """Return how the events of a part came here."""
    return part.origin if isinstance(part, Part) else FETCHED


class Rows(Protocol):
    """The rows of a DataFrame."""

    @property
    def origin(self) -> str:
        """How they come here."""

    @property
    def in_order(self) -> bool:
        """Whether they come in Spark's order."""

    def number(self, types: Types) -> int:
        """Return how many may have some types."""

    def read(self, types: Types, most: float) -> pa.Table | float:
        """Return the rows of some types and those that are no events; their bytes if too many."""
