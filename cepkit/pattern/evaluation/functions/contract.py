"""The contract of functions and operators: what they take, give and compute.

Its form says what there is to compute with; each evaluator makes its own of it. What is computed of
a missing value is missing: no form of texts or integers is given one, and floats give NaN of NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any, TypeAlias

from cepkit.pattern.evaluation.kinds import WHOLE, Class, ValueKind, classes
from cepkit.stream.columns import Column
from cepkit.values import dataclass

Signature: TypeAlias = tuple[tuple[Class, ...], Class | ValueKind]
"""What is taken and what is given; a "number" given is an integer where all taken are integers and
there is a form of whole numbers."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Exact arithmetic on 64-bit integers: integers, times and durations.

    Attributes:
        column: Of int64 columns.
        scalar: Of Python's integers; None where there is no value.
        lost: Of the columns and the result: where there is no value, or 64 bits do not hold it.
        bound: A bound for the result, of bounds for what is taken, all of them absolute values.
    """

    column: Callable[..., Any]
    scalar: Callable[..., int | None]
    lost: Callable[..., Any] | None = None
    bound: Callable[[Sequence[float]], float] = max


@dataclass(frozen=True, slots=True)
class OnNumbers:
    """A function of numbers, times and durations.

    Attributes:
        column: Of float64 columns; NaN where there is no value, or one was NaN.
        scalar: The same of floats. Loops compile it, by its name: it is a function of its own name,
            and calls what Numba knows.
        written: How loops write it where that is no call of `scalar`, as ``"({} + {})"``.
        whole: Of integers; None: they are taken as floats.
    """

    column: Callable[..., Any]
    scalar: Callable[..., float]
    written: str | None = None
    whole: Whole | None = None


@dataclass(frozen=True, slots=True)
class OnTexts:
    """A function of texts, and of numbers beside them; computed once for each distinct value.

    Attributes:
        scalar: Of Python's texts and numbers; None where there is no value.
    """

    scalar: Callable[..., str | float | bool | None]


@dataclass(frozen=True, slots=True)
class OnArrays:
    """A function of arrays.

    Attributes:
        column: Of columns of arrays, and the place in the pattern.
        scalar: Of the rows of numbers that `correlation.standardised` makes of arrays.
        loop: The same for loops to compile, by its name.
    """

    column: Callable[..., Any]
    scalar: Callable[..., float]
    loop: Callable[..., float]


@dataclass(frozen=True, slots=True)
class Registered:
    """A function of the user's, over NumPy arrays.

    Attributes:
        function: As it was registered.
    """

    function: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class OnMembers:
    """A function of a set whose members have variables of their own; what is missing is left out.

    Attributes:
        column: Of their columns.
        scalar: Of the values that are there.
        kind: What it gives for members of a kind.
    """

    column: Callable[[Sequence[Column]], Column]
    scalar: Callable[[Sequence[Any]], Any]
    kind: Callable[[ValueKind], ValueKind]


Form: TypeAlias = OnNumbers | OnTexts | OnArrays | OnMembers | Registered


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or an operator of conditions.

    Attributes:
        name: As a pattern has it.
        arguments: What they are called, as ``"x, y, ..."``.
        takes: What it takes, in words.
        signatures: What it takes, and what it gives for that.
        form: How it is computed.
        folded: Whether it takes any number of arguments more, as the last one: of three it is that
            of the third and of that of the first two.
    """

    name: str
    arguments: str
    takes: str
    signatures: tuple[Signature, ...]
    form: Form
    folded: bool = False

    @property
    def usage(self) -> str:
        """How it is called."""
        return f"{self.name}({self.arguments})"

    @property
    def is_condition(self) -> bool:
        """Whether it may be true or false."""
        return any(gives == "boolean" for _, gives in self.signatures)

    def arity_error(self, count: int) -> str | None:
        """Return how many arguments there should be, None where so many are right."""
        sizes = sorted({len(kinds) for kinds, _ in self.signatures})
        if not sizes or count in sizes or (self.folded and count > sizes[-1]):
            return None
        sizes_text = " or ".join(map(str, [*sizes, *(["more"] if self.folded else [])]))
        return f"{sizes_text} argument{'' if sizes_text == '1' else 's'}"

    def kind(self, kinds: Sequence[ValueKind]) -> ValueKind | None:
        """Return the kind of its values for operands of these kinds; None if not allowed."""
        if isinstance(self.form, OnMembers):
            return self.form.kind(kinds[0])
        return "any" if isinstance(self.form, Registered) else _result_kind(self, tuple(kinds))

    def whole(self, kinds: Sequence[ValueKind]) -> Whole | None:
        """Return how it is computed with integers, where values of these kinds are such."""
        return _whole_of(self, tuple(kinds))

    def of(self, compute: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Return the value of `compute` for the arguments, folded pairwise if needed."""
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
    whole = function.form.whole if isinstance(function.form, OnNumbers) else None
    return whole if all(kind in WHOLE for kind in kinds) else None
