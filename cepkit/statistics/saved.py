"""Statistics as JSON: numbers as they are, times in microseconds since 1970.

Format 2 added all that follows `never_occurring`, format 3 the patterns, format 4 the joins; files
of the older ones are read as well, and are about the variables that they name.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from cepkit.errors import PatternError, StatisticsError
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.printer import to_text
from cepkit.pattern.query import Query
from cepkit.statistics.forecast import Forecast
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.lateness import Lateness
from cepkit.statistics.over_time import OverTime
from cepkit.statistics.selectivity import Equality, Joined, Selectivity
from cepkit.stream.codec import INLINE, SPARSE, decode, encode
from cepkit.stream.columns import Dropped
from cepkit.stream.json_text import parse_object
from cepkit.stream.paths import path_of, read_text
from cepkit.stream.shapes import ShapeError, Time

LARGEST_FILE = 100_000_000
FORMAT = "cepkit statistics 4"
_WITHOUT_JOINS = "cepkit statistics 3"
_WITHOUT_PATTERNS, _WITHOUT_DETAILS = "cepkit statistics 2", "cepkit statistics 1"


def to_json(values: Mapping[str, Any], others: Iterable[Mapping[str, Any]] = ()) -> str:
    """Return the fields of statistics as an indented JSON object.

    Args:
        values: The value of each field, by its name.
        others: Those of the statistics among them.
    """
    data = {"format": FORMAT, **encode(_part(values))}
    data["others"] = [encode(_part(other)) for other in others]
    return json.dumps(data, indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Share:
    variables: tuple[str, ...]
    selectivity: Selectivity = field(metadata=INLINE)


@dataclass(frozen=True, slots=True)
class _EqualKeys:
    variables: tuple[str, ...]
    equality: Equality = field(metadata=INLINE)


@dataclass(frozen=True, slots=True)
class _Join:
    variables: tuple[str, ...]
    joined: Joined = field(metadata=INLINE)


@dataclass(frozen=True, slots=True)
class _Forecast:
    """A forecast: None, as JSON has no infinity, for a number that no float holds."""

    matches: float | None
    low: float | None
    high: float | None
    candidates: float | None
    partial_matches: float | None
    alive: float | None


@dataclass(frozen=True, slots=True)
class _First:
    rates: Mapping[str, float]
    filters: Mapping[str, float]
    selectivities: tuple[_Share, ...]
    same_key: float
    events: int
    dropped: Dropped
    first: Time | None
    last: Time | None
    never_occurring: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Second(_First):
    equalities: tuple[_EqualKeys, ...]
    missing: Mapping[str, float]
    over_time: OverTime | None
    keys: tuple[KeyCounts, ...]
    lateness: Lateness | None
    forecast: _Forecast | None


@dataclass(frozen=True, slots=True)
class _ThirdPart(_Second):
    pattern: str | None


@dataclass(frozen=True, slots=True)
class _Third(_ThirdPart):
    others: tuple[_ThirdPart, ...]


@dataclass(frozen=True, slots=True)
class _SampledForecast(_Forecast):
    sampled: bool


@dataclass(frozen=True, slots=True)
class _Part(_ThirdPart):
    forecast: _SampledForecast | None
    joins: tuple[_Join, ...]
    measured_events: int | None = field(default=None, metadata=SPARSE, kw_only=True)


@dataclass(frozen=True, slots=True)
class _Saved(_Part):
    others: tuple[_Part, ...]


_KINDS: Mapping[str, type[_First]] = {
    FORMAT: _Saved, _WITHOUT_JOINS: _Third,
    _WITHOUT_PATTERNS: _Second, _WITHOUT_DETAILS: _First,
}  # fmt: skip


def _part(values: Mapping[str, Any]) -> _Part:
    shares, equal = values["selectivities"], values["equalities"]
    forecast, query = values["forecast"], values["query"]
    if forecast is not None:
        names = (each.name for each in fields(_Forecast))
        numbers = {name: getattr(forecast, name) for name in names}
        kept = {name: n if math.isfinite(n) else None for name, n in numbers.items()}
        forecast = _SampledForecast(**kept, sampled=forecast.sampled)
    saved = {
        **values,
        "selectivities": tuple(_Share(tuple(sorted(names)), s) for names, s in shares.items()),
        "equalities": tuple(_EqualKeys(tuple(sorted(names)), e) for names, e in equal.items()),
        "forecast": forecast,
        "joins": tuple(_Join(tuple(sorted(v)), j) for v, j in values["joins"].items()),
        "pattern": None if query is None else to_text(query),
    }
    return _Part(**{each.name: saved[each.name] for each in fields(_Part)})


def _values(part: _First) -> dict[str, Any]:
    """Return the value of each field of statistics."""
    values = {each.name: getattr(part, each.name) for each in fields(part)}
    values["selectivities"] = {frozenset(s.variables): s.selectivity for s in part.selectivities}
    values["query"] = _query(values.pop("pattern", None))
    if isinstance(part, _Second):
        values["equalities"] = {frozenset(e.variables): e.equality for e in part.equalities}
        if part.forecast is not None:
            known = {each.name: getattr(part.forecast, each.name) for each in fields(part.forecast)}
            known = {name: math.inf if n is None else n for name, n in known.items()}
            values["forecast"] = Forecast(**known)
    if isinstance(part, _Part):
        values["joins"] = {frozenset(j.variables): j.joined for j in part.joins}
    if isinstance(part, _Saved | _Third):
        values["others"] = list(map(_values, part.others))
    return values


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
        data = parse_object(text, "format", *_KINDS)
        return _values(decode(_KINDS[data["format"]], data))
    except ShapeError as problem:
        raise StatisticsError(
            f"these saved statistics are damaged: {problem}",
            expected=problem.expected,
            hint="save them again with to_json()",
        ) from None


def _query(text: str | None) -> Query | None:
    try:
        return None if text is None else parse(text)
    except PatternError as error:
        raise StatisticsError(
            f"the pattern of these saved statistics cannot be read: {error}",
            hint="register the functions that it calls before you read it",
        ) from None
