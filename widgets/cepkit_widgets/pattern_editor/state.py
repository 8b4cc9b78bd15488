"""The text in the editor, parsed: a query, or an error with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepkit.api.arguments import checked
from cepkit.errors import CepkitError, PlacedError, Span
from cepkit.pattern.builder import as_query
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed text.

    Attributes:
        text: The text.
        query: Its query, with the values of its parameters; None if the text is invalid.
        written: Its query as it is written, which may have parameters without values.
        error: The error, if any.
        span: The place of the error; None if it has no particular place.
    """

    text: str
    query: Query | None = None
    error: CepkitError | None = None
    span: Span | None = None
    written: Query | None = None


def read(text: str, stream: Stream, values: Mapping[str, object] | None = None) -> Reading:
    """Parse a text as a pattern over a stream.

    Args:
        text: As it is typed.
        stream: A local stream; conditions may read its columns.
        values: Of parameters; others have none.
    """
    written = None
    try:
        query = written = as_query(text)
        if query.parameters and values is not None and {*query.parameters} <= {*values}:
            query = query.bind(**{name: values[name] for name in query.parameters})
        query = checked(stream, query)
        check_kinds(query, stream.columns(sorted(attributes_read(query))).kinds)
    except CepkitError as error:
        span = error.span if isinstance(error, PlacedError) else None
        place = span if span and span.text == text else None
        return Reading(text, error=error, span=place, written=written)
    return Reading(text, query, written=written)


def plain_text(text: str) -> str:
    """Return a text as an editor holds it: its line ends, and no lone surrogates."""
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def units_before(text: str, place: int) -> int:
    """Return a place in UTF-16 units, which browsers count instead of characters."""
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2


def characters_before(text: str, units: int) -> int:
    """Return the place in characters for a browser's place in UTF-16 units."""
    before = text.encode("utf-16-le", "surrogatepass")[: 2 * max(0, units)]
    return len(before.decode("utf-16-le", "replace"))
