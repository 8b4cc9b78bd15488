"""Statistics as JSON: numbers as they are, times in microseconds since 1970.

Format 2 added all that follows `never_occurring`, format 3 the patterns; files of the older ones
are read as well, and are about the variables that they name.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any, TypedDict

from cepkit.errors import PatternError, StatisticsError
from cepkit.pattern.parser import parse
from cepkit.pattern.printer import to_text
from cepkit.pattern.query import Query
from cepkit.statistics.forecast import Forecast
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.lateness import Lateness
from cepkit.statistics.over_time import OverTime
from cepkit.statistics.selectivity import Equality, Selectivity
from cepkit.stream.columns import Dropped
from cepkit.stream.json_text import parse_object
from cepkit.stream.paths import path_of, read_text
from cepkit.stream.shapes import Number, ShapeError, Time, check

LARGEST_FILE = 100_000_000
FORMAT = "cepkit statistics 3"
_WITHOUT_PATTERNS, _WITHOUT_DETAILS = "cepkit statistics 2", "cepkit statistics 1"
_MAY_BE_NONE = ("over_time", "lateness", "forecast")
_FORECAST = tuple(field.name for field in fields(Forecast))


def to_json(values: Mapping[str, Any], others: Iterable[Mapping[str, Any]] = ()) -> str:
    """Return the fields of statistics as an indented JSON object.

    Args:
        values: The value of each field, by its name.
        others: Those of the statistics among them.
    """
    data = {"format": FORMAT, **_fields(values), "others": [_fields(other) for other in others]}
    return json.dumps(data, indent=2, ensure_ascii=False)


def _fields(values: Mapping[str, Any]) -> dict[str, Any]:
    over_time, lateness, forecast = (values[name] for name in _MAY_BE_NONE)
    return {
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
        "pattern": None if values["query"] is None else to_text(values["query"]),
    }


def _over_time(over_time: OverTime) -> dict[str, Any]:
    return {
        "begin": over_time.begin,
        "bucket_seconds": over_time.bucket_seconds,
        "counts": dict(over_time.counts),
    }


def _forecast(forecast: Forecast) -> dict[str, Any]:
    # JSON has no infinity: null stands for a number that no float holds.
    return {name: n if math.isfinite(n) else None for name, n in asdict(forecast).items()}


class _Selectivity(TypedDict):
    share: float
    pairs: Number | None
    standard_error: float


class _OfVariables(_Selectivity):
    variables: list[str]


class _Equality(TypedDict):
    variables: list[str]
    by_frequency: float | None
    in_window: _Selectivity


class _Dropped(TypedDict):
    null_time: Number
    null_type: Number


class _OverTime(TypedDict):
    begin: Time
    bucket_seconds: float
    counts: dict[str, list[Number]]


class _Keys(TypedDict):
    attributes: list[str]
    events: Number
    distinct: Number
    most_frequent: list[tuple[str, Number]]


class _Lateness(TypedDict):
    late: Number
    events: Number
    longest_seconds: float
    percentile_99_seconds: float


class _ForecastShape(TypedDict):
    matches: float | None
    low: float | None
    high: float | None
    candidates: float | None
    partial_matches: float | None
    alive: float | None


class _First(TypedDict):
    rates: dict[str, float]
    filters: dict[str, float]
    selectivities: list[_OfVariables]
    same_key: float
    events: Number
    dropped: _Dropped
    first: Time | None
    last: Time | None
    never_occurring: list[str]


class _Second(_First):
    equalities: list[_Equality]
    missing: dict[str, float]
    over_time: _OverTime | None
    keys: list[_Keys]
    lateness: _Lateness | None
    forecast: _ForecastShape | None


class _Part(_Second):
    pattern: str | None


class _Saved(_Part):
    others: list[_Part]


_SHAPES = {FORMAT: _Saved, _WITHOUT_PATTERNS: _Second, _WITHOUT_DETAILS: _First}


def from_json(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the value of each field that `to_json` wrote, now or in an older format.

    Those of `others` are in a list of the same.

    Args:
        source: The text, or the path of a file, which ends in .json where it is a text.

    Raises:
        StatisticsError: The file cannot be read, the text is no JSON, of another format, or has
            values that cannot be; the error says where.
    """
    if not isinstance(source, str | os.PathLike):
        raise StatisticsError(
            f"statistics from a {type(source).__name__}",
            expected="a JSON text, as to_json() gives it, or the path of a file",
        )
    text = source if isinstance(source, str) and not source.endswith(".json") else None
    if text is None:
        text = read_text(path_of(source, StatisticsError), LARGEST_FILE, StatisticsError)
    try:
        data = parse_object(text, "format", *_SHAPES)
        check(data, _SHAPES[data["format"]])
        return {**_read(data), "others": list(map(_read, data.get("others", ())))}
    except ShapeError as problem:
        raise StatisticsError(
            f"these saved statistics are damaged: {problem}",
            expected=problem.expected,
            hint="save them again with to_json()",
        ) from None


def _read(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "rates": _floats(data["rates"]),
        "filters": _floats(data["filters"]),
        "selectivities": {
            frozenset(s["variables"]): _read_selectivity(s) for s in data["selectivities"]
        },
        "same_key": float(data["same_key"]),
        "events": data["events"],
        "dropped": Dropped(data["dropped"]["null_time"], data["dropped"]["null_type"]),
        "first": data["first"],
        "last": data["last"],
        "never_occurring": tuple(data["never_occurring"]),
        **(_read_details(data) if "keys" in data else {}),
        "query": _query(data.get("pattern")),
    }


def _query(text: str | None) -> Query | None:
    try:
        return None if text is None else parse(text)
    except PatternError as error:
        raise StatisticsError(
            f"the pattern of these saved statistics cannot be read: {error}",
            hint="register the functions that it calls before you read it",
        ) from None


def _read_details(data: dict[str, Any]) -> dict[str, Any]:
    over_time, lateness, forecast = (data[name] for name in _MAY_BE_NONE)
    return {
        "equalities": {
            frozenset(e["variables"]): Equality(
                e["by_frequency"], _read_selectivity(e["in_window"])
            )
            for e in data["equalities"]
        },
        "missing": _floats(data["missing"]),
        "over_time": None
        if over_time is None
        else OverTime(over_time["begin"], float(over_time["bucket_seconds"]), over_time["counts"]),
        "keys": tuple(
            KeyCounts(
                tuple(k["attributes"]),
                k["events"],
                k["distinct"],
                tuple((key, number) for key, number in k["most_frequent"]),
            )
            for k in data["keys"]
        ),
        "lateness": None
        if lateness is None
        else Lateness(*(lateness[name] for name in _Lateness.__annotations__)),
        "forecast": None
        if forecast is None
        else Forecast(
            *(math.inf if forecast[n] is None else float(forecast[n]) for n in _FORECAST)
        ),
    }


def _floats(data: dict[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in data.items()}


def _read_selectivity(data: dict[str, Any]) -> Selectivity:
    return Selectivity(float(data["share"]), data["pairs"], float(data["standard_error"]))
