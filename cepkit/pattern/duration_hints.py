"""Hints for numbers and texts in place of durations."""

from __future__ import annotations

import re
from dataclasses import replace

from cepkit.pattern import conditions as c
from cepkit.pattern.printer import expression_text
from cepkit.stream.durations import UNITS

_IN_TEXT = re.compile(r"\s*(-?[\d._]*\d[\d._]*)\s*(\w+)\s*")


def with_units(place: c.Comparison | c.InList | c.Between | c.Arithmetic | c.Call) -> str:
    """Return a hint that writes numbers and texts beside durations as durations."""
    match place:
        case c.Comparison(_, left, right) | c.Arithmetic(_, left, right):
            changed: c.Expression = replace(place, left=_with_unit(left), right=_with_unit(right))
        case c.InList(operand, choices):
            completed = tuple(map(_with_unit, choices))
            changed = replace(place, operand=_with_unit(operand), choices=completed)
        case c.Between(operand, low, high):
            ends = _with_unit(low), _with_unit(high)
            changed = replace(place, operand=_with_unit(operand), low=ends[0], high=ends[1])
        case c.Call(_, arguments):
            changed = replace(place, arguments=tuple(map(_with_unit, arguments)))
    text = re.sub(r"'\0(.*?)\0'", r"\1", expression_text(changed))
    if text == expression_text(place):
        return "a number times a unit is a duration: b.x * 1 second"
    return f"a duration is a number with its unit: {text}"


def _with_unit(operand: c.Expression) -> c.Expression:
    """Return a placeholder for the duration that a constant should be; else the operand."""
    match operand:
        case c.Literal(bool()):
            return operand
        case c.Literal(int() | float() as number):
            unit = "second" if number == 1 else "seconds"
            return c.Literal(f"\0{expression_text(operand)} {unit}\0")
        case c.Literal(str(text)):
            match = _IN_TEXT.fullmatch(text)
            has_unit = match is not None and match[2].casefold() in UNITS
            return c.Literal(
                f"\0{match[1]} {match[2]}\0" if match and has_unit else "\0005 seconds\0"
            )
        case _:
            return operand
