"""The explanation of how a row pattern query runs."""

from __future__ import annotations

from collections.abc import Iterable

from cepkit.rowpattern.expressions import Expression, place_text
from cepkit.rowpattern.run import Prepared
from cepkit.tables import count_text


def explanation(prepared: Prepared) -> list[str]:
    """Return the lines of the explanation."""
    bound = prepared.bound
    query = bound.query
    pattern = "" if query.span is None else place_text(query.span)
    lines = [f"{pattern}: {count_text(prepared.program.size, 'step')}"]
    for name in query.variables:
        ways = [
            *_conditions_text("for all rows at once", bound.filters[name]),
            *_conditions_text("of each row that is tried", bound.conditions[name]),
        ]
        lines.append(f"  {name}: {'; '.join(ways) or 'any row'}")
    if any(bound.conditions.values()):
        lines.append("searched row by row: the preferred way, and back where a condition fails")
    else:
        lines.append("searched by compiled loops, in one pass: rows x steps")
    skip = " ".join(filter(None, (query.skip.to.upper(), query.skip.variable)))
    lines.append(f"after a match: {skip}")
    return lines


def _conditions_text(when: str, parts: Iterable[Expression]) -> list[str]:
    texts = " AND ".join(place_text(part.span) for part in parts)
    return [f"{texts} ({when})"] if texts else []
