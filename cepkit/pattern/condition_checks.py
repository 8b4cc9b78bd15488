"""Checks of conditions: names, forms, and the events that they read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import get_args

from cepkit.errors import PatternError, PatternSyntaxError, nearest
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes as n
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.registered import function_of, known_functions
from cepkit.pattern.evaluation.functions.texts import regex_problem
from cepkit.pattern.names import attribute_text, name_text, string_text, variable_text
from cepkit.pattern.nodes import walk as walk_structure
from cepkit.pattern.policies import in_microseconds
from cepkit.pattern.printer import aggregate_text, expression_text

_PART = "hour(a.ts), day(a.ts), weekday(a.ts), week(a.ts), month(a.ts) ... are parts of a time"
_PRESENT = "a pattern knows no present: give the time, as TIMESTAMP '2024-05-01 09:30:00'"
_DIFFERENCE = "b.ts - a.ts is a duration, as in b.ts - a.ts < 2 days"
_SUM = "a.ts + 2 days is a time"
_BEGIN = "date(a.ts) is the begin of the day, week_start(a.ts) that of the week"
_ELSEWHERE = {
    **dict.fromkeys(("extract", "date_part", "datepart", "dayofyear", "to_char"), _PART),
    **dict.fromkeys(("dayofweek", "isodow", "dow"), "weekday(a.ts): 1 for Monday to 7 for Sunday"),
    **dict.fromkeys(("dayofmonth",), "day(a.ts)"),
    **dict.fromkeys(("weekofyear", "isoweek"), "week(a.ts)"),
    **dict.fromkeys(("quarter",), "ceil(month(a.ts) / 3)"),
    **dict.fromkeys(("date_trunc", "trunc", "to_date", "time_bucket"), _BEGIN),
    **dict.fromkeys(("now", "current_timestamp", "current_date", "getdate", "today"), _PRESENT),
    **dict.fromkeys(("datediff", "date_diff", "timestampdiff", "age"), _DIFFERENCE),
    **dict.fromkeys(("dateadd", "date_add", "date_sub", "timestampadd"), _SUM),
}
"""What to write in place of functions of times that SQL has."""

MAX_INTEGER = 2**63 - 1
"""The greatest that a column of integers, or of times, can hold."""


def check_forms(where: c.Expression) -> None:
    """Refuse nodes that no text gives, made by hand or by the builder."""
    for node in c.walk(where):
        match node:
            case c.AllOf(items) | c.AnyOf(items) if len(items) < 2:
                name = "AND" if isinstance(node, c.AllOf) else "OR"
                raise PatternError(
                    f"{name} of {len(items)} condition{'' if len(items) == 1 else 's'}",
                    expected="two or more",
                    span=node.span,
                )
            case c.InList(_, choices) if not choices:
                raise PatternError("IN with an empty list", span=node.span)
            case c.Literal(value) if type(value) not in get_args(c.Constant):
                raise PatternError(
                    f"a constant of the type {type(value).__name__}",
                    expected="a number, a text, a datetime, a timedelta, True, False or None",
                    span=node.span,
                )
            case c.Literal(timedelta() as value) if abs(in_microseconds(value)) > MAX_INTEGER:
                raise PatternError("a duration of more than 292,000 years", span=node.span)
            case c.Literal(datetime() as value) if value.tzinfo is not None:
                raise PatternError(
                    f"the time {value} with a zone", expected="the same in UTC", span=node.span
                )
            case c.Literal(float(value)) if not math.isfinite(value):
                raise PatternError(
                    f"the constant {value}",
                    expected="a finite number",
                    hint="a missing value is found by IS NULL" if math.isnan(value) else None,
                    span=node.span,
                )
            case c.Literal(int(value)) if not _fits(value):
                raise PatternError(
                    "an integer that does not fit into 64 bits",
                    expected=f"at most {MAX_INTEGER}",
                    hint="as a float, with a decimal point, it may be larger",
                    span=node.span,
                )


def _fits(value: int) -> bool:
    return -MAX_INTEGER - 1 <= value <= MAX_INTEGER


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a pattern by their roles.

    Attributes:
        names: All variables.
        repeated: The variables under KL.
        absent: The variables under NOT, and after UNTIL.
        choices: For each OR the variables of each of its items.
        until: The variables after UNTIL.
        together: The variables under each NOT of several events.
        groups: The variables of each repeated group.
    """

    names: tuple[str, ...]
    repeated: frozenset[str]
    absent: frozenset[str]
    choices: tuple[tuple[frozenset[str], ...], ...]
    until: frozenset[str] = frozenset()
    together: tuple[frozenset[str], ...] = ()
    groups: tuple[frozenset[str], ...] = ()

    @classmethod
    def of(cls, structure: n.Structure) -> Events:
        """Return the events of a pattern."""
        nodes = tuple(walk_structure(structure))
        return cls(
            tuple(event.variable for event in n.events_of(structure)),
            n.repeated_in(structure),
            n.absent_in(structure),
            tuple(
                tuple(frozenset(e.variable for e in n.events_of(item)) for item in node.items)
                for node in nodes
                if isinstance(node, n.Or)
            ),
            frozenset(event.variable for event in n.ends_of_loops_in(structure)),
            n.together_in(structure),
            tuple(
                frozenset(e.variable for e in n.events_of(node)) for node in n.groups_in(structure)
            ),
        )

    def beside(self, variable: str) -> frozenset[str]:
        """Return the variables that repeat together with one, itself included."""
        return next((group for group in self.groups if variable in group), frozenset({variable}))


def check_condition(condition: c.Expression, events: Events) -> None:
    """Check one conjunct of WHERE.

    Raises:
        PatternError: The condition means nothing.
    """
    mentioned: set[str] = set()
    _check_is_truth(condition)
    for node in c.walk(condition):
        if not isinstance(node, _CONNECTIVES):
            for part in c.children(node):
                if isinstance(part, c.ConditionNode):
                    raise PatternError("a condition instead of a value", span=part.span)
        match node:
            case c.Attribute(variable) | c.Aggregate(variable=str(variable)):
                _check_variable(node, variable, events)
                mentioned.add(variable)
            case c.Aggregate():
                raise _of_no_set(node)
            case c.Call(_, arguments):
                _check_call(node, len(arguments))
    _check_together(condition, mentioned, events)
    _check_neighbours(condition, mentioned, events)


def check_result(value: c.Expression, events: Events, clause: str = "RETURN") -> None:
    """Check the value of a RETURN column, or of an aggregate.

    Raises:
        PatternError: The value means nothing, or a match has several.
    """
    check_forms(value)
    mentioned: set[str] = set()
    for node in c.walk(value):
        if isinstance(node, c.ConditionNode):
            raise PatternError("a condition instead of a value", span=node.span)
        match node:
            case c.Attribute(variable) | c.Aggregate(variable=str(variable)):
                _check_variable(node, variable, events)
                if variable in events.absent:
                    place = "after UNTIL" if variable in events.until else "under NOT"
                    raise PatternError(
                        f"{clause} of '{variable}', which is {place}",
                        expected="an event that matches have",
                        span=node.span,
                    )
                if isinstance(node, c.Attribute) and variable in events.repeated:
                    _check_whole_set(node, value)
                if c.set_of_members(node) is not None:
                    raise PatternError(
                        f"{clause} of {expression_text(node)}, a value of each member of a set",
                        expected="one value for a match",
                        span=node.span,
                    )
                mentioned.add(variable)
            case c.Aggregate():
                raise _of_no_set(node)
            case c.Call(_, arguments):
                _check_call(node, len(arguments))
    _check_together(value, mentioned, events, "value")


def _of_no_set(node: c.Aggregate) -> PatternError:
    if not isinstance(node, c.ValueAggregate):
        return PatternError(f"{node.function}() of nothing", span=node.span)
    return PatternError(
        f"{aggregate_text(node)}, which is of many matches",
        expected=f"AGG {aggregate_text(node)}, or a function of one set, as in sum(b.price)",
        span=node.span,
    )


def _check_neighbours(condition: c.Expression, mentioned: set[str], events: Events) -> None:
    """Refuse a condition between members of a set that reads other sets or absent events."""
    variable = c.set_of_members(condition)
    if variable is None:
        return
    others = sorted(mentioned & (events.repeated | events.absent) - events.beside(variable))
    if others:
        raise PatternError(
            f"a condition between the members of '{variable}' is about '{others[0]}' as well",
            expected="one set, and single events",
            span=condition.span,
        )
    for node in c.walk(condition):
        if isinstance(node, c.Aggregate) and c.set_of_members(node) is None:
            raise PatternError(
                f"{_name(node)} in a condition between the members of '{variable}'",
                expected="attributes of the two members, and of single events",
                span=node.span,
            )


def _name(node: c.Aggregate) -> str:
    return expression_text(node) if c.is_member_number(node.function) else node.function


def _members(node: c.Aggregate, variable: str) -> str:
    if node.function.startswith((c.RUNNING, c.EARLIER)):
        return f"{variable}[..{'i' if node.function.startswith(c.RUNNING) else 'i-1'}]"
    return variable


def _check_whole_set(node: c.Attribute, value: c.Expression) -> None:
    """Refuse to compute with an attribute that a set has many values of."""
    if node is not value:
        text = f"{variable_text(node.variable)}.{attribute_text(node.name)}"
        raise PatternError(
            f"'{node.variable}' is a set, so {text} has many values",
            expected=f"a function of the set, as in max({text})",
            hint=f"{text} alone returns the list of them",
            span=node.span,
        )


def _check_variable(node: c.Attribute | c.Aggregate, variable: str, events: Events) -> None:
    if not variable and isinstance(node, c.Attribute):
        raise _lone_name(node, events)
    if variable not in events.names:
        problem = f"'{variable}' is not a variable of the pattern"
        raise PatternError.unknown(problem, variable, events.names, span=node.span)
    if isinstance(node, c.Attribute):
        return
    if variable not in events.repeated:
        raise PatternError(
            f"{expression_text(node)} of a single event",
            expected="a variable under KL",
            hint=f"'{variable}' is one event: write {variable}.{node.attribute}"
            if node.attribute
            else None,
            span=node.span,
        )
    function = c.plain_function(node.function)
    if node.attribute is None and function != "count":
        members = _members(node, variable)
        raise PatternError(
            f"{function} of whole events",
            expected=f"an attribute, as in {function}({members}.price)",
            span=node.span,
        )


def _lone_name(node: c.Attribute, events: Events) -> PatternError:
    name, span = node.name, node.span
    written = name_text(name) if span is None else span.text[span.start : span.end]
    is_variable = name in events.names
    expected = (
        f"{name_text(name)}.price" if is_variable else f"{events.names[0]}.{attribute_text(name)}"
    )
    hint = f"texts go in single quotes: {string_text(name)}" if written.startswith('"') else None
    attribute = None if span is None else re.search(r"\w+\.[\w-]+-$", span.text[: span.start])
    if attribute is not None:
        variable, _, column = attribute[0].partition(".")
        hint = f'a name with a minus goes in double quotes: {variable}."{column}{name}"'
    return PatternSyntaxError(
        f"{written} alone is not a value",
        expected=f"an attribute, as in {expected}"
        + ("" if is_variable else f", or the text {string_text(name)} in single quotes"),
        hint=hint or _ELSEWHERE.get(name.lower()),
        span=span,
    )


def _check_call(node: c.Call, count: int) -> None:
    name = node.function
    if name not in known_functions():
        raise PatternError(
            f"'{name}' is not a known function",
            expected=f"one of {', '.join(known_functions())}",
            hint=_ELSEWHERE.get(name.lower())
            or nearest(name, known_functions())
            or f"register it: cepkit.register_function('{name}', ...)",
            span=node.span,
        )
    if name in AGGREGATES:
        raise PatternError(f"{name} of something that is not a set of events", span=node.span)
    expected = function_of(node).arity_error(count)
    if expected is not None:
        raise PatternError(
            f"{name} with {count} argument{'' if count == 1 else 's'}",
            expected=expected,
            span=node.span,
        )
    match node:
        case c.Call("matches", (_, c.Literal(str(regex), span))):
            problem = regex_problem(regex)
            if problem is not None:
                raise PatternError(
                    f"the regular expression is not valid: {problem}",
                    expected="one of RE2, which has no back references and no look around",
                    span=span or node.span,
                )


_CONNECTIVES = (c.AllOf, c.AnyOf, c.Complement)


def _check_is_truth(condition: c.Expression) -> None:
    """Refuse a condition that is a value, where no stream is needed to see it."""
    match condition:
        case c.AllOf() | c.AnyOf() | c.Complement():
            for item in c.children(condition):
                _check_is_truth(item)
        case c.Literal(value) if not isinstance(value, bool) and value is not None:
            raise _not_a_condition(condition)
        case c.Arithmetic() | c.Negative() | c.Aggregate():
            raise _not_a_condition(condition)
        case c.Call(name) if name in FUNCTIONS and not FUNCTIONS[name].is_condition:
            raise _not_a_condition(condition)


def _not_a_condition(node: c.Expression) -> PatternError:
    return PatternError(
        "a value instead of a condition",
        expected="something that is true or false, as in a.price < b.price",
        span=node.span,
    )


def _check_together(
    condition: c.Expression, mentioned: set[str], events: Events, what: str = "condition"
) -> None:
    """Refuse a condition over events that no match has together."""
    absent = sorted(mentioned & events.absent)
    if len(absent) > 1 and not any(names.issuperset(absent) for names in events.together):
        raise PatternError(
            f"one condition is about two absent events, '{absent[0]}' and '{absent[1]}'",
            expected="variables under at most one NOT in a condition",
            span=condition.span,
        )
    for sides in events.choices:
        inside = mentioned & frozenset[str]().union(*sides)
        if not any(inside <= side for side in sides):
            side = next(side for side in sides if side & inside)
            pair = min(side & inside), min(inside - side)
            raise PatternError(
                f"one {what} is about '{pair[0]}' and '{pair[1]}', "
                "which stand in two branches of an OR",
                expected="variables that a match can have together",
                hint=f"write one {what} for each branch",
                span=condition.span,
            )
