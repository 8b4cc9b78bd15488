"""The contract of functions and operators: their arguments, results and computation.

A form has the computation for each evaluator. The result for a missing operand is missing: forms of
texts and integers never get one, and forms of floats return NaN for NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, TypeAlias

from cepkit.pattern.evaluation.kinds import WHOLE, Class, ValueKind, classes
from cepkit.stream.columns import Column

Signature: TypeAlias = tuple[tuple[Class, ...], Class | ValueKind]
"""The classes of the operands, and the class or kind of the result; the result "number" is an
integer where all operands are integers and the form has a computation with integers."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Exact arithmetic on 64-bit integers: integers, times and durations.

    Attributes:
        column: The computation on int64 columns.
        scalar: The computation on Python's integers; None for a missing result.
        lost: From the columns and the result: the rows whose result is missing or exceeds 64 bits.
        bound: From bounds of the operands: a bound of the result; all bound absolute values.
    """

    column: Callable[..., Any]
    scalar: Callable[..., int | None]
    lost: Callable[..., Any] | None = None
    bound: Callable[[Sequence[float]], float] = max


@dataclass(frozen=True, slots=True)
class OnNumbers:
    """A function of numbers, times and durations.

    Attributes:
        column: The computation on float64 columns; NaN for a missing result.
        scalar: The computation on floats. Loops compile it and call it by its name, so it has a
            name of its own and calls only what Numba knows.
        written: Its source in loops where that is no call of `scalar`, as ``"({} + {})"``.
        whole: The computation on integers; None: they become floats.
    """

    column: Callable[..., Any]
    scalar: Callable[..., float]
    written: str | None = None
    whole: Whole | None = None


@dataclass(frozen=True, slots=True)
class OnInstants:
    """A function of a time by the clock of a zone or the calendar; no loop computes it.

    Attributes:
        whole: The computation on microseconds.
    """

    whole: Whole


@dataclass(frozen=True, slots=True)
class OnTexts:
    """A function of texts, and of numbers beside them; computed once for each distinct value.

    Attributes:
        scalar: The computation on Python's texts and numbers; None for a missing result.
        many: The same for many combinations of arguments at once, where that is faster.
    """

    scalar: Callable[..., str | float | bool | None]
    many: Callable[[Sequence[tuple[Any, ...]]], Sequence[Any]] | None = None


@dataclass(frozen=True, slots=True)
class OnArrays:
    """A function of arrays.

    Attributes:
        column: The computation on columns of arrays; it also takes the node, for errors.
        scalar: The computation on rows from `correlation.standardised`.
        loop: The same for loops, which compile it and call it by its name.
    """

    column: Callable[..., Any]
    scalar: Callable[..., float]
    loop: Callable[..., float]


@dataclass(frozen=True, slots=True)
class Registered:
    """A user's function over NumPy arrays.

    Attributes:
        function: The registered function.
    """

    function: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class OnMembers:
    """A function of a set whose members have variables of their own; it leaves out missing values.

    Attributes:
        column: The computation on their columns.
        scalar: The computation on the present values.
        kind: The kind of the result for a kind of members.
    """

    column: Callable[[Sequence[Column]], Column]
    scalar: Callable[[Sequence[Any]], Any]
    kind: Callable[[ValueKind], ValueKind]


Form: TypeAlias = OnNumbers | OnInstants | OnTexts | OnArrays | OnMembers | Registered


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or an operator of conditions.

    Attributes:
        name: The name in patterns.
        arguments: The names of its arguments, as ``"x, y, ..."``.
        takes: The operands that it takes, in words.
        signatures: The operands that it takes, each with the result.
        form: Its computation.
        folded: Whether it takes further arguments like the last one: f(x, y, z) is f(f(x, y), z).
    """

    name: str
    arguments: str
    takes: str
    signatures: tuple[Signature, ...]
    form: Form
    folded: bool = False

    @property
    def usage(self) -> str:
        """The name with the arguments, for messages."""
        return f"{self.name}({self.arguments})"

    @property
    def is_condition(self) -> bool:
        """Whether its result may be a truth value."""
        return any(gives == "boolean" for _, gives in self.signatures)

    def arity_error(self, count: int) -> str | None:
        """Return the expected number of arguments in words, None if `count` is right."""
        sizes = sorted({len(kinds) for kinds, _ in self.signatures})
        if not sizes or count in sizes or (self.folded and count > sizes[-1]):
            return None
        sizes_text = " or ".join(map(str, [*sizes, *(["more"] if self.folded else [])]))
        return f"{sizes_text} argument{'' if sizes_text == '1' else 's'}"

    def kind(self, kinds: Sequence[ValueKind]) -> ValueKind | None:
        """Return the kind of the result for operands of these kinds; None if it takes no such."""
        if isinstance(self.form, OnMembers):
            return self.form.kind(kinds[0])
        return "any" if isinstance(self.form, Registered) else _result_kind(self, tuple(kinds))

    def whole(self, kinds: Sequence[ValueKind]) -> Whole | None:
        """Return the computation on integers, None if operands of these kinds are no integers."""
        return _whole_of(self, tuple(kinds))

    def of(self, compute: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Return the value of `compute` for the arguments; a folded one takes two at a time."""
        return reduce(compute, values) if self.folded else compute(*values)


@cache
def _result_kind(function: Function, kinds: tuple[ValueKind, ...]) -> ValueKind | None:
    results = set()
    for parameters, gives in function.signatures:
        expected = (
            *parameters,
            *[parameters[-1]] * (len(kinds) - len(parameters) if function.folded else 0),
        )
        if len(expected) == len(kinds) and all(
            one in classes(kind) for one, kind in zip(expected, kinds, strict=True)
        ):
            results.add(gives)
    if not results:
        return None
    if "null" in kinds:
        return "null"
    if len(results) > 1:
        return "any"
    (only,) = results
    if only != "number":
        return only
    whole = function.whole(kinds) is not None
    return "integer" if whole and {*kinds} == {"integer"} else "float"


@cache
def _whole_of(function: Function, kinds: tuple[ValueKind, ...]) -> Whole | None:
    whole = function.form.whole if isinstance(function.form, OnNumbers | OnInstants) else None
    return whole if all(kind in WHOLE for kind in kinds) else None
