"""From queries back to text: `parse(to_text(query)) == query` for every checked query.

Brackets stand only where the grammar needs them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_never

from cepkit.pattern import conditions as c
from cepkit.pattern import nodes as n
from cepkit.pattern.bounds import bound_of
from cepkit.pattern.kinds import raised
from cepkit.pattern.limits import refuse_too_deep
from cepkit.pattern.moments import since_1970
from cepkit.pattern.names import (
    BETWEEN_VALUES,
    attribute_text,
    column_text,
    name_text,
    string_text,
    type_text,
    variable_after_type,
    variable_text,
)
from cepkit.pattern.policies import StepBound, Strategy, in_microseconds, window_text
from cepkit.pattern.query import Query, ResultColumn
from cepkit.pattern.zones import BY_CALENDAR, as_written
from cepkit.printing import text_of
from cepkit.stream.durations import duration_text

# The forms of an expression, from loose to tight; inside a tighter one a looser one gets brackets.
_ANY_OF, _ALL_OF, _COMPLEMENT, _COMPARISON, _SUM, _PRODUCT, _SIGNED, _ATOM = range(8)


@text_of.register
def to_text(query: Query) -> str:
    """Return `query` as a text that parses to it again, one clause a line.

    Args:
        query: A query that passed `checks.check`.

    Raises:
        PatternError: The query did not pass, and is nested too deeply.

    Example:
        >>> from cepkit.pattern.parsing.parser import parse
        >>> print(to_text(parse("pattern seq(A a, B b) within 90 min where a.x=b.x")))
        PATTERN SEQ(A a, B b)
        WHERE a.x = b.x
        WITHIN 90 minutes
    """
    for part in (query.written, query.where):
        refuse_too_deep(part)
    if query.parameters and query.text is not None:
        return query.text.strip()
    kinds, query = raised(as_written(query))
    lines = [f"DEFINE {', '.join(map(_kind_text, kinds))}"] if kinds else []
    lines.append(f"PATTERN {structure_text(query.written)}")
    if query.where is not None:
        lines.append(f"WHERE {_where_text(query.where)}")
    if query.window is not None:
        lines.append(f"WITHIN {window_text(query.window)}")
    lines += map(bound_text, query.bounds)
    if query.zone is not None:
        lines.append(f"AT TIME ZONE {string_text(query.zone)}")
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        lines.append(f"STRATEGY {query.strategy}")
    if query.partition_by:
        lines.append(f"PARTITION BY {', '.join(map(column_text, query.partition_by))}")
    if query.aggregates:
        lines.append(f"AGG {', '.join(map(aggregate_text, query.aggregates))}")
    if query.group_by:
        lines.append(f"GROUP BY {', '.join(map(column_text, query.group_by))}")
    if query.having:
        lines.append(f"HAVING {' AND '.join(map(_threshold_text, query.having))}")
    if query.after_match is not None:
        skip = query.after_match
        variable = "" if skip.variable is None else f" {variable_text(skip.variable)}"
        lines.append(f"AFTER MATCH SKIP {skip.to}{variable}")
    if query.returned:
        lines.append(f"RETURN {', '.join(map(_result_text, query.returned))}")
    return "\n".join(lines)


def _kind_text(kind: n.Kind) -> str:
    base = "" if kind.types is None else f"{' '.join(map(name_text, kind.types))} WHERE "
    return f"{name_text(kind.name)} AS {base}{expression_text(kind.condition)}"


def _threshold_text(threshold: c.Comparison) -> str:
    assert isinstance(threshold.left, c.Aggregate)
    number = expression_text(threshold.right)
    return f"{aggregate_text(threshold.left)} {threshold.operator} {number}"


def bound_text(bound: StepBound) -> str:
    """Return a bound of steps as a clause."""
    ends = f"FROM {variable_text(bound.first)} TO {variable_text(bound.last)}"
    return f"WITHIN {window_text(bound.window)} {ends}"


def structure_text(structure: n.Structure) -> str:
    """Return `structure` as PATTERN writes it."""
    match structure:
        case n.Event(variable) if not structure.names:
            return f"ANY {variable_text(variable)}"
        case n.Event(variable):
            if structure.names == (variable,):
                return type_text(variable)
            listed = [type_text(name) for name in structure.names]
            if len(listed) == 1:
                return f"{listed[0]} {variable_after_type(variable)}"
            return f"{type_text(variable)} IN ({', '.join(listed)})"
        case n.Seq(items):
            return f"SEQ({', '.join(map(structure_text, items))})"
        case n.And(items):
            return f"AND({', '.join(map(structure_text, items))})"
        case n.Or(items):
            return f"OR({', '.join(map(structure_text, items))})"
        case n.Not(item):
            return f"NOT({structure_text(item)})"
        case n.Opt(item):
            return f"OPT({structure_text(item)}){' GREEDY' if structure.greedy else ''}"
        case n.First(item):
            return f"FIRST {structure_text(item)}"
        case n.Next(item):
            return f"NEXT {structure_text(item)}"
        case n.Kleene(item, minimum, maximum, greedy=greedy, until=until):
            ends = " GREEDY" if greedy else ""
            ends += "" if until is None else f" UNTIL {structure_text(until)}"
            return f"KL({structure_text(item)}){_bounds_text(minimum, maximum)}{ends}"
        case _:
            assert_never(structure)


def expression_text(expression: c.Expression) -> str:
    """Return `expression` as a condition writes it; implied ones in words."""
    match expression:
        case c.Parameter(name=name):
            return f"${name}"
        case c.Literal(datetime() as value) if expression.zone is not None:
            offset = timedelta(microseconds=since_1970(value, expression.zone) - since_1970(value))
            return f"TIMESTAMP '{value + offset}Z'"
        case c.Literal(value):
            return _literal_text(value)
        case c.Comparison("=", c.Call(part, (one,)) as call, c.Call(_, (two,))) if _is_time(
            one
        ) or _is_time(two):
            name = next(name for name, each in BY_CALENDAR.items() if each == part)
            events = tuple(map(_lone_event, (one, two)))
            return expression_text(c.Call(name, events, zone=call.zone))
        case c.Attribute(variable, c.TIME):  # implied by a bound; no pattern writes it
            return f"time of {variable_text(variable)}"
        case c.Attribute("", name):
            return column_text(name)
        case c.Attribute(variable, name):
            return f"{variable_text(variable)}.{attribute_text(name)}"
        case c.Negative(c.Attribute() | c.Call() | c.Aggregate() as operand) if (
            _level(operand) == _ATOM
        ):
            return f"-{expression_text(operand)}"
        case c.Negative(operand):
            # Brackets: -3 is a constant, and -- begins a comment.
            return f"-({expression_text(operand)})"
        case c.Arithmetic(operator, left, right):
            level = _level(expression)
            return f"{_at(left, level)} {operator} {_at(right, level + 1)}"
        case c.Call(function, (text, pattern)) if function.upper() in BETWEEN_VALUES:
            return f"{_at(text, _SUM)} {function.upper()} {_at(pattern, _SUM)}"
        case c.Complement(c.Call(function, (text, pattern))) if function.upper() in BETWEEN_VALUES:
            return f"{_at(text, _SUM)} NOT {function.upper()} {_at(pattern, _SUM)}"
        case c.Call(function, arguments):
            listed = ", ".join(_at(a, _SUM) for a in arguments)
            zone = (
                "" if expression.zone is None else f" AT TIME ZONE {string_text(expression.zone)}"
            )
            return f"{name_text(function)}({listed}{zone})"
        case c.Aggregate(function, variable, attribute) if function != c.plain_function(function):
            each = "" if attribute is None else f".{attribute_text(attribute)}"
            end = "i" if function.startswith(c.RUNNING) else "i-1"
            members = f"{variable_text(variable or '')}[..{end}]{each}"
            return _function_text(c.plain_function(function), members)
        case c.Aggregate(function, str(variable), str(name)) if c.is_member_number(function):
            place = c.place_of(function) or 1
            number = str(place) if place > 0 else f"last{place + 1}"
            return f"{variable_text(variable)}[{number}].{attribute_text(name)}"
        case c.Aggregate(function) if (distance := c.distance_of(function)) > 1:
            return f"prev({_reference_text(expression)}, {distance})"
        case c.Aggregate():
            return _function_text(expression.function, _reference_text(expression))
        # Implied by NEXT; no pattern writes it.
        case (
            c.Comparison("=", c.Attribute(str(variable), c.NUMBER_BEFORE), other)
            | c.Comparison("=", c.Aggregate(_, str(variable), c.NUMBER_BEFORE), other)
            | c.Comparison("=", other, c.Attribute(str(variable), c.NUMBER_BEFORE))
        ):
            return f"{variable_text(variable)} is NEXT after {variable_text(min(other.variables))}"
        case c.Comparison("=", c.Arithmetic("-", c.Aggregate("max", str(variable), c.NUMBER))):
            return f"{variable_text(variable)} side by side"
        case c.AllOf() | c.Comparison() if (bound := bound_of(expression)) is not None:
            return bound_text(bound)
        case c.Comparison(operator, left, right):
            return f"{_at(left, _SUM)} {operator} {_at(right, _SUM)}"
        case c.InList(operand, choices, negated):
            listed = ", ".join(_at(choice, _SUM) for choice in choices)
            return f"{_at(operand, _SUM)} {'NOT ' if negated else ''}IN ({listed})"
        case c.Between(operand, low, high, negated):
            ends = f"{_at(low, _SUM)} AND {_at(high, _SUM)}"
            return f"{_at(operand, _SUM)} {'NOT ' if negated else ''}BETWEEN {ends}"
        case c.IsNull(operand, negated):
            return f"{_at(operand, _SUM)} IS {'NOT ' if negated else ''}NULL"
        case c.AllOf(items):
            return " AND ".join(_at(item, _COMPLEMENT) for item in items)
        case c.AnyOf(items):
            return " OR ".join(_at(item, _ALL_OF) for item in items)
        case c.Complement(item):
            return f"NOT {_at(item, _COMPLEMENT)}"
        case _:
            assert_never(expression)


def _is_time(value: c.Expression) -> bool:
    """Return whether an event stands for its time, as in same_day(a, b)."""
    return isinstance(value, c.Attribute) and value.name == c.TIME


def _lone_event(value: c.Expression) -> c.Expression:
    if isinstance(value, c.Attribute) and value.name == c.TIME:
        return c.Attribute("", value.variable)
    return value


def _function_text(function: str, members: str) -> str:
    return f"count(DISTINCT {members})" if function == c.DISTINCT else f"{function}({members})"


def aggregate_text(aggregate: c.Aggregate) -> str:
    """Return `aggregate` as AGG writes it."""
    if isinstance(aggregate, c.ValueAggregate):
        argument = expression_text(aggregate.argument)
        if aggregate.function == c.DISTINCT:
            return f"COUNT(DISTINCT {argument})"
        share = "" if aggregate.share is None else f", {aggregate.share!r}"
        return f"{aggregate.function.upper()}({argument}{share})"
    if aggregate.variable is None:
        return aggregate.function.upper()
    return f"{aggregate.function.upper()}({_reference_text(aggregate)})"


def _result_text(result: ResultColumn) -> str:
    value = expression_text(result.value)
    return value if value == result.name else f"{value} AS {column_text(result.name)}"


def _where_text(where: c.Expression) -> str:
    """Return the whole condition; a long one has a line for each item of its outermost AND."""
    text = expression_text(where)
    if not isinstance(where, c.AllOf) or len(text) <= 72:
        return text
    return "\n  AND ".join(_at(item, _COMPLEMENT) for item in where.items)


def _bounds_text(minimum: int, maximum: int | None) -> str:
    if maximum is None:
        return "" if minimum == 1 else f"{{{minimum},}}"
    return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


def _reference_text(aggregate: c.Aggregate) -> str:
    variable = variable_text(aggregate.variable or "")
    if aggregate.attribute is None:
        return variable
    return f"{variable}.{attribute_text(aggregate.attribute)}"


def _literal_text(value: c.Constant) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return string_text(value)
        case datetime():
            return f"TIMESTAMP '{value}'"
        case timedelta():
            return duration_text(in_microseconds(value))
        case _:
            return repr(value)


def _at(expression: c.Expression, level: int) -> str:
    """Return the text of an expression, in brackets if it binds more loosely than `level`."""
    text = expression_text(expression)
    return text if _level(expression) >= level else f"({text})"


def _level(expression: c.Expression) -> int:
    match expression:
        case c.AnyOf():
            return _ANY_OF
        case c.AllOf():
            return _ALL_OF
        case c.Complement():
            return _COMPLEMENT
        case c.Comparison() | c.InList() | c.Between() | c.IsNull():
            return _COMPARISON
        case c.Call(function) if function.upper() in BETWEEN_VALUES:
            return _COMPARISON
        case c.Arithmetic(operator):
            return _SUM if operator in ("+", "-") else _PRODUCT
        case c.Negative():
            return _SIGNED
        case c.Literal() | c.Attribute() | c.Call() | c.Aggregate():
            return _ATOM
        case _:
            assert_never(expression)
