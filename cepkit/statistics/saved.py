"""Statistics as JSON: numbers as they are, times in microseconds since 1970.

Format 2 added all that follows `never_occurring`; files of format 1 are read as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from cepkit.errors import StatisticsError
from cepkit.statistics.forecast import Forecast
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.lateness import Lateness
from cepkit.statistics.over_time import OverTime
from cepkit.statistics.selectivity import Equality, Selectivity
from cepkit.stream.columns import Dropped

FORMAT = "cepkit statistics 2"
_OLDER = "cepkit statistics 1"
_MAY_BE_NONE = ("over_time", "lateness", "forecast")
_FORECAST = tuple(field.name for field in fields(Forecast))


def to_json(values: Mapping[str, Any]) -> str:
    """Return the fields of statistics as an indented JSON object.

    Args:
        values: The value of each field, by its name.
    """
    over_time, lateness, forecast = (values[name] for name in _MAY_BE_NONE)
    return json.dumps(
        {
            "format": FORMAT,
            "rates": dict(values["rates"]),
            "filters": dict(values["filters"]),
            "selectivities": [
                {"variables": sorted(names), **asdict(selectivity)}
                for names, selectivity in values["selectivities"].items()
            ],
            "same_key": values["same_key"],
            "events": values["events"],
            "dropped": asdict(values["dropped"]),
            "first": values["first"],
            "last": values["last"],
            "never_occurring": values["never_occurring"],
            "equalities": [
                {"variables": sorted(names), **asdict(equality)}
                for names, equality in values["equalities"].items()
            ],
            "missing": dict(values["missing"]),
            "over_time": None if over_time is None else _over_time(over_time),
            "keys": [asdict(keys) for keys in values["keys"]],
            "lateness": None if lateness is None else asdict(lateness),
            "forecast": None if forecast is None else _forecast(forecast),
        },
        indent=2,
        ensure_ascii=False,
    )


def _over_time(over_time: OverTime) -> dict[str, Any]:
    return {
        "begin": over_time.begin,
        "bucket_seconds": over_time.bucket_seconds,
        "counts": dict(over_time.counts),
    }


def _forecast(forecast: Forecast) -> dict[str, Any]:
    # JSON has no infinity: null stands for a number that no float holds.
    return {name: n if math.isfinite(n) else None for name, n in asdict(forecast).items()}


def from_json(text: str) -> dict[str, Any]:
    """Return the value of each field that `to_json` wrote, now or in format 1.

    Raises:
        StatisticsError: The text is no JSON, of another format, or has values that cannot be.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as problem:
        raise StatisticsError(f"the statistics are no JSON: {problem}") from problem
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, _OLDER):
        raise StatisticsError(
            "this JSON holds no statistics", expected=f"an object of format '{FORMAT}'"
        )
    try:
        return _read(data)
    except StatisticsError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as problem:
        raise StatisticsError(
            f"the statistics are damaged ({type(problem).__name__}: {problem})",
            hint="save them again with to_json()",
        ) from problem


def _read(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "rates": _floats(data["rates"]),
        "filters": _floats(data["filters"]),
        "selectivities": {_names(s): _read_selectivity(s) for s in data["selectivities"]},
        "same_key": float(data["same_key"]),
        "events": int(data["events"]),
        "dropped": Dropped(int(data["dropped"]["null_time"]), int(data["dropped"]["null_type"])),
        "first": None if data["first"] is None else int(data["first"]),
        "last": None if data["last"] is None else int(data["last"]),
        "never_occurring": tuple(str(name) for name in data["never_occurring"]),
        **({} if data["format"] == _OLDER else _read_details(data)),
    }


def _read_details(data: dict[str, Any]) -> dict[str, Any]:
    over_time, lateness, forecast = (data[name] for name in _MAY_BE_NONE)
    return {
        "equalities": {
            _names(e): Equality(
                None if e["by_frequency"] is None else float(e["by_frequency"]),
                _read_selectivity(e["in_window"]),
            )
            for e in data["equalities"]
        },
        "missing": _floats(data["missing"]),
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
            for k in data["keys"]
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


def _names(data: dict[str, Any]) -> frozenset[str]:
    return frozenset(map(str, data["variables"]))


def _floats(data: dict[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in data.items()}


def _read_selectivity(data: dict[str, Any]) -> Selectivity:
    return Selectivity(
        float(data["share"]),
        None if data["pairs"] is None else int(data["pairs"]),
        float(data["standard_error"]),
    )
