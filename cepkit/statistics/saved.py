"""Statistics as JSON, with times in microseconds since 1970.

Files of older formats lack some fields. Those without patterns go by the names of variables.
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
FORMAT, *_OLDER = (f"cepkit statistics {number}" for number in (4, 3, 2, 1))


def to_json(values: Mapping[str, Any], others: Iterable[Mapping[str, Any]] = ()) -> str:
    """Return the fields of statistics as an indented JSON object.

    Args:
        values: The value of each field, by its name.
        others: The fields of the `others` of these statistics.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Forecast:
    """A forecast: None is infinity, which JSON lacks."""

    matches: float | None
    low: float | None
    high: float | None
    candidates: float | None
    partial_matches: float | None
    alive: float | None
    sampled: bool = field(default=False, metadata=SPARSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    rates: Mapping[str, float]
    filters: Mapping[str, float]
    selectivities: tuple[_Share, ...]
    same_key: float
    events: int
    dropped: Dropped
    first: Time | None
    last: Time | None
    never_occurring: tuple[str, ...]
    equalities: tuple[_EqualKeys, ...] = field(default=(), metadata=SPARSE)
    missing: Mapping[str, float] = field(default_factory=dict, metadata=SPARSE)
    over_time: OverTime | None = field(default=None, metadata=SPARSE)
    keys: tuple[KeyCounts, ...] = field(default=(), metadata=SPARSE)
    lateness: Lateness | None = field(default=None, metadata=SPARSE)
    forecast: _Forecast | None = field(default=None, metadata=SPARSE)
    pattern: str | None = field(default=None, metadata=SPARSE)
    joins: tuple[_Join, ...] = field(default=(), metadata=SPARSE)
    measured_events: int | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saved(_Part):
    others: tuple[_Part, ...] = field(default=(), metadata=SPARSE)


def _part(values: Mapping[str, Any]) -> _Part:
    shares, equal = values["selectivities"], values["equalities"]
    forecast, query = values["forecast"], values["query"]
    if forecast is not None:
        numbers: dict[str, Any] = {f.name: getattr(forecast, f.name) for f in fields(_Forecast)}
        numbers |= {name: None for name, n in numbers.items() if not math.isfinite(n)}
        forecast = _Forecast(**numbers)
    saved = {
        **values,
        "selectivities": tuple(_Share(tuple(sorted(names)), s) for names, s in shares.items()),
        "equalities": tuple(_EqualKeys(tuple(sorted(names)), e) for names, e in equal.items()),
        "forecast": forecast,
        "joins": tuple(_Join(tuple(sorted(v)), j) for v, j in values["joins"].items()),
        "pattern": None if query is None else to_text(query),
    }
    return _Part(**{each.name: saved[each.name] for each in fields(_Part)})


def _values(part: _Part) -> dict[str, Any]:
    """Return the value of each field of statistics."""
    values = {each.name: getattr(part, each.name) for each in fields(part)}
    values["selectivities"] = {frozenset(s.variables): s.selectivity for s in part.selectivities}
    values["equalities"] = {frozenset(e.variables): e.equality for e in part.equalities}
    values["joins"] = {frozenset(j.variables): j.joined for j in part.joins}
    values["query"] = _query(values.pop("pattern"))
    if part.forecast is not None:
        numbers = {each.name: getattr(part.forecast, each.name) for each in fields(part.forecast)}
        numbers = {name: math.inf if n is None else n for name, n in numbers.items()}
        values["forecast"] = Forecast(**numbers)
    if isinstance(part, _Saved):
        values["others"] = list(map(_values, part.others))
    return values


def from_json(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the value of each field that `to_json` wrote, now or in an older format.

    The fields of `others` are a list of the same form.

    Args:
        source: The text, or the path of a file; a path given as a text ends in .json.

    Raises:
        StatisticsError: The file cannot be read, or the text is not JSON, has another format or
            has invalid values.
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
        data = parse_object(text, "format", FORMAT, *_OLDER)
        return _values(decode(_Saved, data))
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
