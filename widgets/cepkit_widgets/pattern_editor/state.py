"""What a text in the editor means: a query, or an error with its place."""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.api.arguments import checked
from cepkit.errors import CepkitError, PlacedError, Span
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text means.

    Attributes:
        text: The text.
        query: The query that it writes; None where it is wrong.
        error: What is wrong.
        span: Where that is; None where it is nowhere in particular.
    """

    text: str
    query: Query | None = None
    error: CepkitError | None = None
    span: Span | None = None


def read(text: str, stream: Stream) -> Reading:
    """Return what a text means as a pattern over a stream.

    Args:
        text: As it is typed.
        stream: A local stream; its columns and their kinds are what conditions may read.
    """
    try:
        query = checked(stream, text)
        check_kinds(query, stream.columns(sorted(attributes_read(query))).kinds)
    except CepkitError as error:
        span = error.span if isinstance(error, PlacedError) else None
        return Reading(text, error=error, span=span if span and span.text == text else None)
    return Reading(text, query)


def plain_text(text: str) -> str:
    """Return a text as an editor can hold it: lines end as there, and no half of a character."""
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def units_before(text: str, place: int) -> int:
    """Return what a browser calls a place: it counts UTF-16 units, not characters."""
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2


def characters_before(text: str, units: int) -> int:
    """Return the place in a text that a browser means."""
    before = text.encode("utf-16-le", "surrogatepass")[: 2 * max(0, units)]
    return len(before.decode("utf-16-le", "replace"))
