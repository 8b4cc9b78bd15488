"""Thresholds: the conditions with parameters for which one detection gives all answers.

A match of the loosest value of `b.amount > $k` is one of any other value just if its amount is
above that. That holds where the condition reads single events that every match has, and where no
other choice depends on it: FIRST, GREEDY, UNTIL, a strategy or AFTER MATCH do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes as n
from cepkit.pattern.checks import check
from cepkit.pattern.kinds import without_kinds
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parameters import occurrences_in
from cepkit.pattern.parsing.parser import parse_window
from cepkit.pattern.policies import Strategy, TimeWindow, in_microseconds
from cepkit.pattern.query import Query, ResultColumn
from cepkit.pattern.rewrite import MIRRORED

Sign: TypeAlias = Literal["<", "<=", ">", ">="]
Values: TypeAlias = npt.NDArray[Any]
"""Whole numbers or floats, none of them missing."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition `value sign $name * unit`, or the window.

    Attributes:
        name: The parameter.
        sign: The comparison.
        value: What is compared, without parameters; None: the time from the first event of a match
            to its last, which a window bounds.
        unit: The microseconds of the duration that multiplies the parameter; 1 without one.
    """

    name: str
    sign: Sign
    value: c.Expression | None
    unit: int

    def limit(self, bound: object) -> int | float:
        """Return a value of the parameter in the units of `value`: durations are microseconds.

        Raises:
            PatternError: It is neither a number nor a duration.
        """
        if isinstance(bound, str) and self.value is None:
            window = parse_window(bound)
            if isinstance(window, TimeWindow) and window == TimeWindow(window.microseconds):
                return window.microseconds  # neither exclusive nor by the calendar
        if isinstance(bound, timedelta):
            return in_microseconds(bound) * self.unit
        if (
            isinstance(bound, bool)
            or not isinstance(bound, int | float)
            or not math.isfinite(bound)
        ):
            raise PatternError(
                f"${self.name} is compared with {bound!r}", expected="a number or a duration"
            )
        return bound * self.unit

    def count(self, ordered: Values, limit: float) -> int:
        """Return how many of some values, in order, pass."""
        side: Literal["left", "right"] = "left" if self.sign in ("<", ">=") else "right"
        exact = _in_kind(ordered, limit, up=side == "left")
        if exact is None:
            below = len(ordered) if limit > 0 else 0
        else:
            below = int(np.searchsorted(ordered, exact, side))
        return len(ordered) - below if self.rises else below

    def passes(self, values: Values, limit: float) -> npt.NDArray[np.bool_]:
        """Return which values pass."""
        exact = _in_kind(values, limit, up=self.sign in ("<", ">="))
        if exact is None:
            return np.full(len(values), self.rises == (limit < 0))
        match self.sign:
            case "<":
                return np.asarray(values < exact)
            case "<=":
                return np.asarray(values <= exact)
            case ">":
                return np.asarray(values > exact)
            case ">=":
                return np.asarray(values >= exact)

    @property
    def rises(self) -> bool:
        """Whether a higher value of the parameter lets fewer matches pass."""
        return self.sign in (">", ">=")


def _in_kind(values: Values, limit: float, *, up: bool) -> np.generic | None:
    """Return a limit in the kind of values, rounded up or down; None if it lies beyond all.

    Whole numbers are compared as such: floats hold them only up to 2^53.
    """
    if values.dtype.kind != "i":
        return np.float64(limit)
    whole = math.ceil(limit) if up else math.floor(limit)
    return np.int64(whole) if -(2**63) <= whole < 2**63 else None


def thresholds_of(query: Query) -> dict[str, Threshold] | str:
    """Return the threshold of each parameter; or why each value needs its own detection."""
    assert query.text is not None
    written = [each.name for each in occurrences_in(query.text)]
    twice = next((name for name in written if written.count(name) > 1), None)
    if twice is not None:
        return f"${twice} stands in several places"
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH or query.after_match is not None:
        return "a choice of one match depends on the others"
    for node in n.walk(query.written):
        if isinstance(node, n.First) or (
            isinstance(node, n.Kleene) and (node.greedy or node.until is not None)
        ):
            return "FIRST, GREEDY and UNTIL depend on the conditions"
    thresholds: dict[str, Threshold] = {}
    for condition in c.conjuncts(query.where):
        names = [node.name for node in c.walk(condition) if isinstance(node, c.Parameter)]
        if not names:
            continue
        threshold = _threshold(condition, names[0]) if len(names) == 1 else None
        if threshold is None:
            return f"${names[0]} is no bound of a comparison"
        if threshold.value is None or not _is_of_single_events(query, threshold.value):
            return f"the condition with ${names[0]} is not about single events of every match"
        thresholds[names[0]] = threshold
    for name in query.parameters:
        if name not in thresholds:
            window = _window(query, name)
            if isinstance(window, str):
                return window
            thresholds[name] = window
    return thresholds


def _threshold(condition: c.Expression, name: str) -> Threshold | None:
    match condition:
        case c.Comparison("<" | "<=" | ">" | ">=" as sign, left, right):
            if (unit := _unit(right)) is not None:
                return Threshold(name, sign, left, unit)
            if (unit := _unit(left)) is not None:
                mirrored: Any = MIRRORED[sign]
                return Threshold(name, mirrored, right, unit)
    return None


def _window(query: Query, name: str) -> Threshold | str:
    """Return the window with a parameter as a threshold; or why it cannot be one."""
    assert query.text is not None
    (place,) = (each for each in occurrences_in(query.text) if each.name == name)
    window = query.window
    if not isinstance(window, TimeWindow) or window.span is None or window.days is not None:
        return f"${name} stands outside of the conditions"
    if window.span.start != place.span.start:
        return f"${name} stands outside of the conditions"
    if n.absent_in(query.written):
        return "under NOT a window also says where nothing may be"
    unit = 1 if place.is_window else window.microseconds  # the stand-in is 1
    return Threshold(name, "<" if window.exclusive else "<=", None, unit)


def _unit(side: c.Expression) -> int | None:
    """Return the unit of a side that is a parameter, or one times a duration; else None."""
    match side:
        case c.Parameter():
            return 1
        case c.Arithmetic("*", c.Parameter(), c.Literal(timedelta() as unit)):
            return in_microseconds(unit)
    return None


def _is_of_single_events(query: Query, value: c.Expression) -> bool:
    repeated = n.repeated_in(query.written) | n.absent_in(query.written)
    if c.has_set_functions(value) or value.variables & repeated or not value.variables:
        return False
    return all(value.variables <= {*branch.variables} for branch in normal_form(query))


def loosest(
    query: Query, thresholds: Sequence[Threshold], key: c.Expression | None, longest: float
) -> Query:
    """Return the query without its thresholds, whose matches have the values that these compare.

    Args:
        key: A value that the matches have as well.
        longest: The longest value of the window in microseconds, if it is a threshold.
    """
    where = [
        condition
        for condition in c.conjuncts(query.where)
        if not any(isinstance(node, c.Parameter) for node in c.walk(condition))
    ]
    values = {f"${each.name}": each.value for each in thresholds if each.value is not None}
    where += [c.IsNull(value, True) for value in values.values()]
    if key is not None:
        values["key"] = key
    returned = tuple(ResultColumn(name, value) for name, value in values.items())
    plain = without_kinds(query)
    if any(each.value is None for each in thresholds):
        plain = replace(plain, window=TimeWindow(int(longest)))
    return check(replace(plain, where=c.all_of(where), returned=returned, parameters=(), text=None))
