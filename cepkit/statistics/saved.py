"""Statistics as JSON: numbers as they are, times in microseconds since 1970.

Format 2 added all that follows `never_occurring`; files of format 1 are read as well.
"""

from __future__ import annotations

import json
import math
from typing import Any

from cepkit.errors import StatisticsError
from cepkit.statistics.forecast import Forecast
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.lateness import Lateness
from cepkit.statistics.model import Statistics
from cepkit.statistics.over_time import OverTime
from cepkit.statistics.selectivity import Equality, Selectivity
from cepkit.stream.columns import Dropped

FORMAT = "cepkit statistics 2"
_OLDER = "cepkit statistics 1"


def to_json(statistics: Statistics) -> str:
    """Return `statistics` as an indented JSON object."""
    s = statistics
    return json.dumps(
        {
            "format": FORMAT,
            "rates": dict(s.rates),
            "filters": dict(s.filters),
            "selectivities": [
                {"variables": sorted(names), **_selectivity(found)}
                for names, found in s.selectivities.items()
            ],
            "same_key": s.same_key,
            "events": s.events,
            "dropped": {"null_time": s.dropped.null_time, "null_type": s.dropped.null_type},
            "first": s.first,
            "last": s.last,
            "never_occurring": list(s.never_occurring),
            "equalities": [
                {
                    "variables": sorted(names),
                    "by_frequency": found.by_frequency,
                    "in_window": _selectivity(found.in_window),
                }
                for names, found in s.equalities.items()
            ],
            "missing": dict(s.missing),
            "over_time": None if s.over_time is None else _over_time(s.over_time),
            "keys": [
                {
                    "attributes": list(keys.attributes),
                    "events": keys.events,
                    "distinct": keys.distinct,
                    "most_frequent": [list(key) for key in keys.most_frequent],
                }
                for keys in s.keys
            ],
            "lateness": None if s.lateness is None else _lateness(s.lateness),
            "forecast": None if s.forecast is None else _forecast(s.forecast),
        },
        indent=2,
        ensure_ascii=False,
    )


def _selectivity(found: Selectivity) -> dict[str, Any]:
    return {
        "share": found.share,
        "pairs": found.pairs,
        "standard_error": found.standard_error,
    }


def _over_time(found: OverTime) -> dict[str, Any]:
    counts = {variable: list(numbers) for variable, numbers in found.counts.items()}
    return {"begin": found.begin, "bucket_seconds": found.bucket_seconds, "counts": counts}


def _lateness(found: Lateness) -> dict[str, Any]:
    return {
        "late": found.late,
        "events": found.events,
        "longest_seconds": found.longest_seconds,
        "percentile_99_seconds": found.percentile_99_seconds,
    }


_FORECAST = ("matches", "low", "high", "candidates", "partial_matches", "alive")


def _forecast(found: Forecast) -> dict[str, Any]:
    # JSON has no infinity: null stands for a number that no float holds.
    numbers = {name: getattr(found, name) for name in _FORECAST}
    return {name: n if math.isfinite(n) else None for name, n in numbers.items()}


def from_json(text: str) -> Statistics:
    """Return what `to_json` wrote, now or in format 1.

    Raises:
        StatisticsError: The text is no JSON, of another format, or has values that cannot be.
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        raise StatisticsError(f"the statistics are no JSON: {problem}") from problem
    if not isinstance(found, dict) or found.get("format") not in (FORMAT, _OLDER):
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
        _floats(found["rates"]),
        _floats(found["filters"]),
        {frozenset(s["variables"]): _read_selectivity(s) for s in found["selectivities"]},
        float(found["same_key"]),
        int(found["events"]),
        Dropped(int(found["dropped"]["null_time"]), int(found["dropped"]["null_type"])),
        None if found["first"] is None else int(found["first"]),
        None if found["last"] is None else int(found["last"]),
        tuple(str(name) for name in found["never_occurring"]),
        **({} if found["format"] == _OLDER else _read_details(found)),
    )


def _read_details(found: dict[str, Any]) -> dict[str, Any]:
    over_time, lateness, forecast = (found[n] for n in ("over_time", "lateness", "forecast"))
    return {
        "equalities": {
            frozenset(e["variables"]): Equality(
                None if e["by_frequency"] is None else float(e["by_frequency"]),
                _read_selectivity(e["in_window"]),
            )
            for e in found["equalities"]
        },
        "missing": _floats(found["missing"]),
        "over_time": None
        if over_time is None
        else OverTime(
            int(over_time["begin"]),
            float(over_time["bucket_seconds"]),
            {str(v): tuple(map(int, numbers)) for v, numbers in over_time["counts"].items()},
        ),
        "keys": tuple(
            KeyCounts(
                tuple(map(str, k["attributes"])),
                int(k["events"]),
                int(k["distinct"]),
                tuple((str(key), int(number)) for key, number in k["most_frequent"]),
            )
            for k in found["keys"]
        ),
        "lateness": None
        if lateness is None
        else Lateness(
            int(lateness["late"]),
            int(lateness["events"]),
            float(lateness["longest_seconds"]),
            float(lateness["percentile_99_seconds"]),
        ),
        "forecast": None
        if forecast is None
        else Forecast(
            *(math.inf if forecast[n] is None else float(forecast[n]) for n in _FORECAST)
        ),
    }


def _floats(found: dict[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in found.items()}


def _read_selectivity(found: dict[str, Any]) -> Selectivity:
    return Selectivity(
        float(found["share"]),
        None if found["pairs"] is None else int(found["pairs"]),
        float(found["standard_error"]),
    )
