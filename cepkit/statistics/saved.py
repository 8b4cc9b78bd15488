"""Statistics as JSON: numbers as they are, times in microseconds since 1970."""

from __future__ import annotations

import json
from typing import Any

from cepkit.errors import StatisticsError
from cepkit.statistics.model import Selectivity, Statistics
from cepkit.stream.columns import Dropped

FORMAT = "cepkit statistics 1"


def to_json(statistics: Statistics) -> str:
    """Return `statistics` as an indented JSON object."""
    return json.dumps(
        {
            "format": FORMAT,
            "rates": dict(statistics.rates),
            "filters": dict(statistics.filters),
            "selectivities": [
                {
                    "variables": sorted(names),
                    "share": found.share,
                    "pairs": found.pairs,
                    "standard_error": found.standard_error,
                }
                for names, found in statistics.selectivities.items()
            ],
            "same_key": statistics.same_key,
            "events": statistics.events,
            "dropped": {
                "null_time": statistics.dropped.null_time,
                "null_type": statistics.dropped.null_type,
            },
            "first": statistics.first,
            "last": statistics.last,
            "never_occurring": list(statistics.never_occurring),
        },
        indent=2,
        ensure_ascii=False,
    )


def from_json(text: str) -> Statistics:
    """Return what `to_json` wrote.

    Raises:
        StatisticsError: The text is no JSON, of another format, or has values that cannot be.
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        raise StatisticsError(f"the statistics are no JSON: {problem}") from problem
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise StatisticsError(
            "this JSON holds no statistics", expected=f"an object of format '{FORMAT}'"
        )
    try:
        return _read(found)
    except StatisticsError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as problem:
        raise StatisticsError(
            f"the statistics are damaged ({type(problem).__name__}: {problem})",
            hint="save them again with to_json()",
        ) from problem


def _read(found: dict[str, Any]) -> Statistics:
    return Statistics(
        {str(v): float(r) for v, r in found["rates"].items()},
        {str(v): float(s) for v, s in found["filters"].items()},
        {
            frozenset(s["variables"]): Selectivity(
                float(s["share"]),
                None if s["pairs"] is None else int(s["pairs"]),
                float(s["standard_error"]),
            )
            for s in found["selectivities"]
        },
        float(found["same_key"]),
        int(found["events"]),
        Dropped(int(found["dropped"]["null_time"]), int(found["dropped"]["null_type"])),
        None if found["first"] is None else int(found["first"]),
        None if found["last"] is None else int(found["last"]),
        tuple(str(name) for name in found["never_occurring"]),
    )
