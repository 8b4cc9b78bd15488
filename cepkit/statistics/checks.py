"""Checks of the fields of statistics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import NoneType
from typing import Any

from cepkit.errors import StatisticsError, shown
from cepkit.statistics.forecast import Forecast
from cepkit.statistics.lateness import Lateness
from cepkit.statistics.over_time import OverTime
from cepkit.stream.columns import Dropped


def check_known(variable: str, variables: Collection[str]) -> None:
    """Check that a variable has a rate."""
    if not isinstance(variable, str):
        raise StatisticsError(
            f"a variable of the type {type(variable).__name__}", expected="its name, a text"
        )
    if variable not in variables:
        raise StatisticsError.unknown(
            f"the statistics have no rate of a variable '{variable}'", variable, variables
        )


_KINDS: Mapping[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ("rates", "filters", "selectivities", "equalities", "missing", "joins"), (Mapping,)
    ),
    "events": (int,),
    "dropped": (Dropped,),
    "first": (int, NoneType),
    "last": (int, NoneType),
    "never_occurring": (tuple,),
    "over_time": (OverTime, NoneType),
    "keys": (tuple,),
    "lateness": (Lateness, NoneType),
    "forecast": (Forecast, NoneType),
    "measured_events": (int, NoneType),
}


def check_kinds(values: Mapping[str, Any]) -> None:
    """Check the types of the fields of statistics; later errors would not mention statistics."""
    for name, kinds in _KINDS.items():
        value = values[name]
        if not isinstance(value, kinds):
            raise StatisticsError(
                f"{name}= is of the type {type(value).__name__}",
                expected=" or ".join(kind.__name__ for kind in kinds).replace("NoneType", "None"),
            )
    for variable in values["rates"]:
        check_known(variable, values["rates"])


def check_sets(
    rates: Collection[str],
    filters: Collection[str],
    shares: Collection[frozenset[str]],
    equal: Collection[frozenset[str]],
    joins: Collection[frozenset[str]],
) -> None:
    """Check the variables that numbers are about: each has a rate, and sets have their sizes."""
    for names in (*({name} for name in filters), *shares, *equal, *joins):
        for variable in sorted(names):
            check_known(variable, rates)
    if any(len(names) < 2 for names in shares):
        raise StatisticsError(
            "a selectivity of fewer than two variables",
            expected="the share that passes a variable's own conditions in 'filters'",
        )
    if any(len(names) != 2 for names in equal):
        raise StatisticsError(
            "the share of equal keys of other than two variables", expected="pairs"
        )
    if any(len(names) < 2 for names in joins):
        raise StatisticsError("a join of fewer than two variables", expected="two or more")


def check_stream(events: int, first: int | None, last: int | None) -> None:
    """Check the number of events of a stream, and the times of its first and last event."""
    if not 0 <= events < 2**63:
        raise StatisticsError(
            f"a stream of {shown(events)} events", expected="0 or more, below 2^63"
        )
    if any(time is not None and abs(time) >= 2**62 for time in (first, last)):
        raise StatisticsError(
            "an event 146,000 years or more from 1970", hint="times are in microseconds"
        )
    if (first is None) != (last is None):
        raise StatisticsError("only one of the times of the first and the last event is given")
    if first is not None and last is not None and last < first:
        raise StatisticsError(f"the last event (at {last}) is before the first (at {first})")
