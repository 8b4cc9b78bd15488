"""Functions that users register, and the look-up of a node's function.

Sets whose members have variables of their own, as in a group that repeats, come to the same:
`sum(a.x)` of two repetitions is `sum(a[1].x, a[2].x)`, the sum of a set of these two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, assert_never

import numpy as np

from cepkit.arguments import typed
from cepkit.errors import PatternError, nearest, shown
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.conditions import DISTINCT, Aggregate, Arithmetic, Call, Negative
from cepkit.pattern.duration_hints import with_units
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.contract import Function, OnMembers, Registered
from cepkit.pattern.evaluation.functions.operators import MINUS, OPERATORS
from cepkit.pattern.evaluation.functions.times import CLOCK, in_zone
from cepkit.pattern.evaluation.kinds import ValueKind, classes, set_function_kind, word
from cepkit.pattern.evaluation.set_functions import set_function
from cepkit.stream.columns import Column


@cache
def function_of_members(name: str) -> Function:
    """Return an aggregate as a function of listed members."""
    node = Aggregate(name)

    def column(members: Sequence[Column]) -> Column:
        size = max(len(one.values) for one in members)
        values = [
            one.values if len(one.values) == size else np.repeat(one.values, size, axis=0)
            for one in members
        ]
        first, stacked = members[0], np.stack(values, axis=1)
        missing = any(one.has_missing for one in members)
        flat = stacked.reshape(size * len(members), *stacked.shape[2:])
        all_members = Column(first.kind, flat, first.dictionary, missing)
        return set_function(node, all_members, np.arange(size + 1) * len(members))

    def kind(of_members: ValueKind) -> ValueKind:
        return set_function_kind(node, of_members)

    of = AGGREGATES[name].of if name in AGGREGATES else _number_of_distinct
    form = OnMembers(column, of, kind)
    return Function(name, "x, ...", "the members of a set", (), form)


def _number_of_distinct(values: Sequence[Any]) -> int:
    return len({*values})


SET_FUNCTIONS = (*AGGREGATES, "first", "last", "prev")

UserFunction = Callable[..., Any]

_registered: dict[str, UserFunction] = {}


@typed
def register_function(name: str, function: UserFunction) -> None:
    """Make `function` callable in pattern texts under `name`.

    Args:
        name: An identifier in lower or mixed case that no built-in function has.
        function: Takes NumPy arrays of equal length, one for each argument (floats with NaN for
            missing values, texts as object arrays with None, times as datetime64[us] and
            durations as timedelta64[us] with NaT), and returns an array of that length: floats,
            or truth values if it is a condition. It must be vectorised and must not keep state;
            Spark sends it to the workers.

    Raises:
        PatternError: The name is no identifier, or the language has it.

    Example:
        >>> import cepkit as ck
        >>> import numpy as np
        >>> ck.register_function("dollars", lambda cents: cents / 100)
        >>> trades = [{"ts": 1, "type": "A", "cents": 250}, {"ts": 2, "type": "A", "cents": 90}]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> ck.detect(stream, "PATTERN SEQ(A a) WHERE dollars(a.cents) > 1").count()
        1
    """
    if not name.isidentifier():
        raise PatternError(f"{shown(name)} cannot name a function", expected="an identifier")
    if name.lower() in {*FUNCTIONS, *SET_FUNCTIONS, "same_day", "same_week"}:
        raise PatternError(
            f"'{name}' is a function of the language", hint="register it under another name"
        )
    _registered[name] = function


def registered_function(name: str) -> UserFunction:
    """Return the function registered under `name`.

    Raises:
        PatternError: No function has the name.
    """
    try:
        return _registered[name]
    except KeyError:
        raise PatternError(
            f"no function is registered as '{name}'",
            hint=nearest(name, known_functions()) or f"cepkit.register_function('{name}', ...)",
        ) from None


def known_functions() -> tuple[str, ...]:
    """Return the names of all functions, those of the language first."""
    return (*FUNCTIONS, *SET_FUNCTIONS, *sorted(_registered))


def function_of(node: Negative | Arithmetic | Call) -> Function:
    """Return the function or operator of a node.

    Raises:
        PatternError: Nobody has registered the function.
    """
    match node:
        case Arithmetic():
            return OPERATORS[node.operator]
        case Negative():
            return MINUS
        case Call():
            name = node.function
            if name in FUNCTIONS or name == CLOCK.name:
                function = CLOCK if name == CLOCK.name else FUNCTIONS[name]
                return function if node.zone is None else in_zone(function, node.zone)
            if name in AGGREGATES or name == DISTINCT:
                return function_of_members(name)
            return Function(name, "", "", (), Registered(registered_function(name)))
        case _:
            assert_never(node)


def computed_kind(node: Negative | Arithmetic | Call, kinds: Sequence[ValueKind]) -> ValueKind:
    """Return the kind of a node's value for operands of some kinds.

    Raises:
        PatternError: The node does not take these kinds.
    """
    kind = function_of(node).kind(kinds)
    if kind is None:
        raise refusal(node, kinds)
    return kind


def refusal(node: Negative | Arithmetic | Call, kinds: Sequence[ValueKind]) -> PatternError:
    """Return the error of a node that does not take values of these kinds."""
    function = function_of(node)
    match node:
        case Negative():
            problem, hint = f"minus is applied to {word(kinds[0])}", None
        case Arithmetic(operator):
            problem = f"'{operator}' is applied to {' and '.join(map(word, kinds))}"
            hint = _arithmetic_hint(node, function, kinds)
        case Call(name):
            problem = f"{name} of {' and '.join(dict.fromkeys(map(word, kinds)))}"
            hint = _call_hint(node, function, kinds)
        case _:
            assert_never(node)
    return PatternError(problem, expected=function.takes, hint=hint, span=node.span)


def _arithmetic_hint(
    node: Arithmetic, function: Function, kinds: Sequence[ValueKind]
) -> str | None:
    if node.operator == "+" and {*kinds} == {"timestamp"}:
        return "two times have a difference: b.ts - a.ts"
    # Would the operator take a duration in place of the number or the text?
    alternatives = [
        {"duration"} if kind in ("integer", "float", "text") else classes(kind) for kind in kinds
    ]
    accepted = {parameters for parameters, _ in function.signatures}
    fits = any(pair in accepted for pair in product(*alternatives))
    return with_units(node) if fits and {"timestamp", "duration"} & {*kinds} else None


def _call_hint(node: Call, function: Function, kinds: Sequence[ValueKind]) -> str | None:
    accepted = {one for each, _ in function.signatures for one in each}
    if "number" in accepted and "duration" not in accepted and {"timestamp", "duration"} & {*kinds}:
        return "a duration divided by a duration is a number: (b.ts - a.ts) / 1 second"
    if set(map(word, kinds)) == {"a duration", "a number"}:
        return with_units(node)
    return None
