"""Parameters of patterns: `$k` in a text, and the text with values in their places.

The parser reads a text with stand-ins of the same length, so that places in errors stay right. A
query with parameters cannot run; `Query.bind` and `calibrate` give them values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cepkit.errors import PatternError, Span, nearest
from cepkit.pattern.names import string_text
from cepkit.pattern.policies import in_microseconds
from cepkit.stream.durations import UNITS, duration_text

_TOKEN = re.compile(
    r"""(?:--|\#)[^\n\r]* | '(?:[^']|'')*+' | "(?:[^"]|"")*+" | \$(?P<name>[^\W\d]\w*) | \w+""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place of a parameter in a text.

    Attributes:
        name: Its name, without the sign.
        is_window: Whether it stands for a whole duration after WITHIN.
    """

    name: str
    span: Span
    is_window: bool = False


def occurrences_in(text: str) -> tuple[Occurrence, ...]:
    """Return the places of parameters in a text; texts in quotes and comments have none."""
    tokens = [token for token in _TOKEN.finditer(text) if not token[0].startswith(("--", "#"))]
    occurrences = []
    for before, token, behind in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token["name"] is not None:
            within = before is not None and before[0].upper() == "WITHIN"
            counts = behind is not None and behind[0].lower() in {
                *UNITS,
                "event",
                "events",
                "calendar",
            }
            span = Span(text, *token.span())
            occurrences.append(Occurrence(token["name"], span, within and not counts))
    return tuple(occurrences)


def with_stand_ins(text: str, occurrences: tuple[Occurrence, ...]) -> str:
    """Return a text of the same length with a number, or a duration, for each parameter."""
    return _replaced(
        text,
        occurrences,
        lambda each: ("1s" if each.is_window else "1").ljust(each.span.end - each.span.start),
    )


def with_values(text: str, values: Mapping[str, object]) -> str:
    """Return a text with values for its parameters.

    Raises:
        PatternError: A parameter has no value, a value no parameter, or no text says it.
    """
    occurrences = occurrences_in(text)
    names = tuple(dict.fromkeys(each.name for each in occurrences))
    for name in values:
        if name not in names:
            raise PatternError(
                f"the pattern has no parameter ${name}",
                expected=f"one of {', '.join(f'${each}' for each in names)}" if names else None,
                hint=nearest(name, names),
            )
    for each in occurrences:
        if each.name not in values:
            raise PatternError(f"the parameter ${each.name} has no value", span=each.span)
    return _replaced(text, occurrences, lambda each: value_text(values[each.name], each))


def _replaced(
    text: str, occurrences: tuple[Occurrence, ...], new: Callable[[Occurrence], str]
) -> str:
    parts, end = [], 0
    for each in occurrences:
        parts += [text[end : each.span.start], new(each)]
        end = each.span.end
    return "".join([*parts, text[end:]])


def value_text(value: object, occurrence: Occurrence) -> str:
    """Return a value as a pattern writes it in the place of a parameter.

    Raises:
        PatternError: It cannot.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case timedelta():
            return duration_text(in_microseconds(value))
        case datetime() if value.tzinfo is None:
            return f"TIMESTAMP '{value}'"
        case str():
            return value if occurrence.is_window else string_text(value)
    raise PatternError(
        f"the parameter ${occurrence.name} has the value {value!r}",
        expected="a number, a text, a duration, a time without a zone, True, False or None",
        span=occurrence.span,
    )
