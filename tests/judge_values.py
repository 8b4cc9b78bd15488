"""The value of an expression, for the judge: an interpreter of conditions.py's rules.

None is both a missing value and the third truth value. It shares only the expression classes and
registered user functions with the package. Where conditions.py leaves room:

* `% 0` is missing like `/ 0`; `IN` and `BETWEEN` follow SQL (`1 IN (2, NULL)` is unknown).
* `least` and `greatest` are missing if an argument is missing.
* `substring` counts from 1, as in SQL; places outside of the text are empty. A negative power of
  zero is missing.
* Set functions are as in SQL: `sum`, `avg`, `min`, `max` and `count(b.x)` leave out missing values
  (without any value: missing, count 0), `count(b)` counts members; `first` and `last` are the value
  of the first and last member in stream order, which may be missing.
* A running function takes the members that `sets` has as "up to b", or "before b".
* `prev` is the attribute of the member before, which `one` has as "1 before b"; "prev 2" of the
  one before that, "2 before b".
* "member 2" is the value of the second member in stream order, "member -2" of the last but one;
  missing in a smaller set.
* An array is missing if it is null or has only missing items; `corr` is missing if an array has any
  missing item.
* A time is a datetime and a duration a timedelta, with Python's own arithmetic; a text beside a
  time is a time.
* A user function gets missing values and decides for itself; NaN that it returns is missing.
"""

from __future__ import annotations

import math
import operator
import re
from datetime import datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.functions import registered as functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


def value(
    expression: c.Expression,
    one: Mapping[str, Mapping[str, Any]],
    sets: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Any:
    """Return the value of `expression`, None if it is missing or unknown.

    Args:
        expression: The expression.
        one: The attributes of the event of each variable; for a Kleene variable, of one member.
        sets: The attributes of all members of each variable, in stream order.
    """

    def of(part: c.Expression) -> Any:
        return value(part, one, sets)

    match expression:
        case c.Literal(constant):
            return known(constant)
        case c.Attribute(variable, name):
            return known(one[variable].get(name))
        case c.Aggregate(function, str(variable), str(name)) if function.split()[0] == "prev":
            far = function.split()[1] if " " in function else 1
            return known(one[f"{far} before {variable}"].get(name))
        case c.Aggregate(function, str(variable), attribute) if function.startswith(c.RUNNING):
            function = function.removeprefix(c.RUNNING)
            return known(_aggregate(function, sets[f"up to {variable}"], attribute))
        case c.Aggregate(function, str(variable), attribute) if function.startswith(c.EARLIER):
            function = function.removeprefix(c.EARLIER)
            return known(_aggregate(function, sets[f"before {variable}"], attribute))
        case c.Aggregate(function, str(variable), attribute):
            return known(_aggregate(function, sets[variable], attribute))
        case c.Negative(operand):
            return None if (number := of(operand)) is None else -number
        case c.Arithmetic(sign, left, right):
            return known(_computed(sign, of(left), of(right)))
        case c.Call(function, arguments):
            return known(_called(function, [of(argument) for argument in arguments]))
        case c.Comparison(sign, left, right):
            return _compared(sign, of(left), of(right))
        case c.InList(operand, choices, negated):
            equal = _any(_compared("=", of(operand), of(choice)) for choice in choices)
            return _not(equal) if negated else equal
        case c.Between(operand, low, high, negated):
            above = _compared(">=", of(operand), of(low))
            below = _compared("<=", of(operand), of(high))
            return _any([_not(above), _not(below)]) if negated else _all([above, below])
        case c.IsNull(operand, negated):
            return (of(operand) is None) is not negated
        case c.AllOf(items):
            return _all(map(of, items))
        case c.AnyOf(items):
            return _any(map(of, items))
        case c.Complement(item):
            return _not(of(item))
    raise TypeError(expression)


def known(item: Any) -> Any:
    """Return `item`, or None for a missing one: null, NaN, an array of only missing items."""
    if isinstance(item, list | tuple | np.ndarray):
        return item if any(known(member) is not None for member in item) else None
    return None if isinstance(item, float) and math.isnan(item) else item


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all(truths: Iterable[bool | None]) -> bool | None:
    values = list(truths)
    return False if False in values else None if None in values else True


def _any(truths: Iterable[bool | None]) -> bool | None:
    return _not(_all(map(_not, truths)))


def _alike(items: list[Any]) -> list[Any]:
    """Return numbers as floats if one of them is a float."""
    numbers = not any(isinstance(item, timedelta) for item in items)
    floats = numbers and any(isinstance(item, float) for item in items)
    return [float(item) for item in items] if floats else items


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def _compared(sign: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, datetime) != isinstance(right, datetime):
        left, right = (_moment(item) if isinstance(item, str) else item for item in (left, right))
    return _COMPARISONS[sign](*_alike([left, right]))


_moment = datetime.fromisoformat


def _computed(sign: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    left, right = _alike([left, right])
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%" if not right:
            return None
        case "/" if isinstance(left, timedelta):
            return left / right
        case "/":
            return float(left) / float(right)
        case "%" if isinstance(left, timedelta):
            return (abs(left) % abs(right)) * (1 if left >= timedelta(0) else -1)
        case "%" if math.isinf(left):
            return None
        case "%" if isinstance(left, float):
            return math.fmod(left, right)
        case "%":
            return (abs(left) % abs(right)) * (1 if left >= 0 else -1)
    raise TypeError(sign)


def _called(function: str, arguments: list[Any]) -> Any:
    if function in functions._registered:
        columns = [_column(argument) for argument in arguments]
        return np.asarray(functions.registered_function(function)(*columns))[0].item()
    if any(argument is None for argument in arguments):
        return None
    match function, arguments:
        case "abs", [number]:
            return abs(number)
        case "sqrt", [number]:
            return None if number < 0 else math.sqrt(number)
        case "log", [number]:
            return None if number <= 0 else math.log(number)
        case "least", _:
            return min(_alike(arguments))
        case "greatest", _:
            return max(_alike(arguments))
        case "corr", [left, right]:
            return _pearson(list(left), list(right))
        case "exp", [number]:
            return math.exp(number) if number < 709 else math.inf
        case "log10", [number]:
            return None if number <= 0 else math.log10(number)
        case "sin" | "cos" | "tan", [number]:
            return getattr(math, function)(number) if math.isfinite(number) else None
        case "asin" | "acos", [number]:
            return getattr(math, function)(number) if abs(number) <= 1 else None
        case "atan" | "radians" | "degrees", [number]:
            return getattr(math, function)(number)
        case "atan2", [y, x]:
            return math.atan2(y, x)
        case "haversine", places:
            return _kilometres(*places)
        case "like" | "ilike", [text, pattern]:
            words = {"%": ".*", "_": "."}
            regex = "".join(words.get(letter) or re.escape(letter) for letter in pattern)
            same = re.IGNORECASE if function == "ilike" else 0
            return re.fullmatch(regex, text, re.DOTALL | same) is not None
        case "matches", [text, regex]:
            return re.search(regex, text) is not None
        case "power", [base, exponent]:
            return _power(float(base), float(exponent))
        case "mod", [left, right]:
            return _computed("%", left, right)
        case "sign", [number]:
            return 0 if number == 0 else 1 if number > 0 else -1
        case "floor" | "ceil" | "round", [number]:
            whole = {"floor": math.floor, "ceil": math.ceil, "round": round}[function]
            return number if number in (math.inf, -math.inf) else type(number)(whole(number))
        case "lower", [text]:
            return text.lower()
        case "upper", [text]:
            return text.upper()
        case "trim", [text]:
            return text.strip()
        case "length", [text]:
            return sum(1 for _ in text)
        case "substring", [text, start, *count]:
            end = start + count[0] if count else math.inf
            places = enumerate(text, 1)
            return "".join(character for place, character in places if start <= place < end)
        case "starts_with", [text, part]:
            return text[: len(part)] == part
        case "ends_with", [text, part]:
            return text[max(len(text) - len(part), 0) :] == part
        case "contains", [text, part]:
            return any(text[at : at + len(part)] == part for at in range(len(text) + 1))
        case "replace", [text, old, new]:
            return new.join(text.split(old)) if old else text
        case "concat", _:
            return "".join(arguments)
    return _part_of_time(function, *arguments)


def _part_of_time(function: str, time: Any) -> Any:
    match function:
        case "year" | "month" | "day" | "hour" | "minute" | "second":
            return getattr(time, function)
        case "week":
            return time.isocalendar().week
        case "weekday":
            return time.isoweekday()
        case "date":
            return time.replace(hour=0, minute=0, second=0, microsecond=0)
        case "week_start":
            return _part_of_time("date", time) - timedelta(days=time.isoweekday() - 1)
    raise TypeError(function)


def _kilometres(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Return the length of the arc between two places, from the straight line between them."""

    def point(latitude: float, longitude: float) -> tuple[float, float, float]:
        north, east = math.radians(latitude), math.radians(longitude)
        around = math.cos(north)
        return around * math.cos(east), around * math.sin(east), math.sin(north)

    chord = math.dist(point(lat1, lon1), point(lat2, lon2))
    return 2 * 6371.0088 * math.asin(min(1.0, chord / 2))


def _power(base: float, exponent: float) -> float | None:
    if base == 0 and exponent < 0:
        return None
    answer = base**exponent  # of a negative number a complex one, where none is real
    return answer if isinstance(answer, float) else None


def _column(argument: Any) -> Any:
    """Return an argument for a user function: a column of one row, floats or texts."""
    if isinstance(argument, str):
        return np.array([argument], dtype=object)
    return np.array([math.nan if argument is None else argument], dtype=float)


def _pearson(left: list[Any], right: list[Any]) -> Any:
    if len(left) != len(right) or any(known(item) is None for item in left + right):
        return None
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None
    x_mean, y_mean = sum(left) / len(left), sum(right) / len(right)
    xs, ys = [x - x_mean for x in left], [y - y_mean for y in right]
    spread = math.sqrt(sum(x * x for x in xs)) * math.sqrt(sum(y * y for y in ys))
    return sum(x * y for x, y in zip(xs, ys, strict=True)) / spread


def _aggregate(function: str, members: Sequence[Mapping[str, Any]], attribute: str | None) -> Any:
    if attribute is None:
        return len(members)
    values = [known(member.get(attribute)) for member in members]
    if function in ("first", "last"):
        if not values:  # of a set in another branch of OR
            return None
        return values[0] if function == "first" else values[-1]
    if function.startswith("member "):
        place = int(function.removeprefix("member "))
        exists = abs(place) <= len(values)
        return values[place - 1 if place > 0 else place] if exists else None
    present = [item for item in values if item is not None]
    if function == "count":
        return len(present)
    if function == "count distinct":
        return sum(item not in present[:place] for place, item in enumerate(present))
    if not present:
        return None
    match function:
        case "sum":
            return reduce(operator.add, present)
        case "avg":
            return reduce(operator.add, present) / len(present)
        case "min":
            return min(present)
        case "max":
            return max(present)
    raise TypeError(function)
