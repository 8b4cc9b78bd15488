"""Inner loops written for one step, where its conditions are more than bands.

`a.price + b.price < 2 * c.price OR a.k != c.k` compares what cannot be put on two sides. For such a
step a loop is written that evaluates the whole condition for each candidate, an order of
magnitude faster than NumPy on what a looser loop lets through (benchmarks/engine.py).

Only the shape of the condition is written as source. Whatever is about one side alone - the bound
variables, the new one, or none - is an argument, computed by `evaluation` beforehand; names and
constants of the pattern never reach the source. So loops are shared by all queries of one shape,
and a text can never run code. Each compiles once and is kept on disk under its content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.join.sources import load
from cepkit.columnar.kernels.numbers import as_exact_floats, stays_exact
from cepkit.columnar.slices.candidates import Candidates
from cepkit.pattern.conditions import (
    AllOf,
    AnyOf,
    Arithmetic,
    Call,
    Comparison,
    Expression,
    InList,
    IsNull,
    Negative,
    variables_of,
    walk,
)
from cepkit.pattern.correlation import standardised
from cepkit.pattern.evaluation import Read, truth, value
from cepkit.pattern.functions import BUILTINS
from cepkit.pattern.operations import common_codes
from cepkit.stream.columns import Column

Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Argument:
    """What a loop is given: numbers about one side of the condition.

    Attributes:
        variable: The one variable it is about; None where it is about several bound ones or none.
        numbers: A number (or a row of them) for each candidate of that variable; for none, one.
        compute: For several bound variables, the numbers of a chunk of partial matches.
    """

    variable: str | None
    numbers: Numbers | None
    compute: Callable[[Read, int], Numbers] | None = None


@dataclass(frozen=True, slots=True)
class GeneratedJoin:
    """A loop for one step and what to call it with, after the arguments of every join.

    Attributes:
        join: The loop; it takes the bands of the step as well, however many there are.
        bound: What is to be looked up for each chunk of partial matches.
        others: What is the same for all chunks.
    """

    join: Callable[..., tuple[int, int]]
    bound: tuple[Argument, ...]
    others: tuple[Any, ...]

    def arguments(
        self, partials: Mapping[str, Ints], read: Read, size: int
    ) -> tuple[npt.NDArray[Any], ...]:
        """Return the loop's own arguments, after the bands, for a chunk of partial matches."""
        return (
            *(_of_chunk(argument, partials, read, size) for argument in self.bound),
            *self.others,
        )


def generate(
    conditions: Sequence[Expression],
    variable: str,
    candidates: Mapping[str, Candidates],
    *,
    bands: int = 0,
    compiled: bool = True,
) -> GeneratedJoin | None:
    """Return a loop that adds `variable` and checks bands and `conditions`; None: there is none.

    There is none for functions of the user's, and for integers that floats cannot hold.

    Args:
        conditions: As `rewrite.without_not` gives them, all about `variable` and bound ones.
        variable: The new variable.
        candidates: Of all variables.
        bands: How many bands the loop checks first.
        compiled: False leaves the loop to Python, for tests of what is written.
    """

    def read(name: str, attribute: str) -> Column:
        return candidates[name].column(attribute)

    for condition in conditions:
        if any(isinstance(n, Call) and n.function not in BUILTINS for n in walk(condition)):
            return None
        if not stays_exact(condition, read):
            return None
    writer = _Writer(variable, candidates)
    written = [writer.condition(condition) for condition in conditions]
    join = load(writer.loop(written, bands), compiled=compiled)
    return GeneratedJoin(join, tuple(writer.bound), (*writer.new, *writer.constants))


class _Writer:
    """Writes the conditions of one step, and collects what their loop is to be given."""

    def __init__(self, variable: str, candidates: Mapping[str, Candidates]) -> None:
        self._variable = variable
        self._candidates = candidates
        self._known: dict[tuple[object, ...], str] = {}
        self.bound: list[Argument] = []
        self.new: list[Numbers] = []
        self.constants: list[float] = []

    def loop(self, conditions: Sequence[str], bands: int) -> str:
        """Return the source of the loop around the conditions."""
        names, fixed, moving, checks = [], [], [], []
        for i in range(bands):
            names += [f"l{i}", f"u{i}", f"b{i}"]
            fixed += [f"low{i} = l{i}[p]", f"high{i} = u{i}[p]"]
            moving += [f"v{i} = b{i}[y]"]
            checks += [f"(v{i} >= low{i})", f"(v{i} <= high{i})"]
        for i in range(len(self.bound)):
            names += [f"p{i}"]
            fixed += [f"x{i} = p{i}[p]"]
        for i in range(len(self.new)):
            names += [f"c{i}"]
            moving += [f"y{i} = c{i}[y]"]
        names += [f"k{i}" for i in range(len(self.constants))]
        return "\n".join(
            (
                f"def join({', '.join(('low', 'high', 'first', 'parents', 'found', *names))}):",
                "    n = uintp(low.size)",
                "    room = uintp(parents.size)",
                "    m = uintp(0)",
                "    for p in range(uintp(first), n):",
                "        if high[p] <= low[p]:",
                "            continue",
                "        begin, end = uintp(low[p]), uintp(high[p])",
                "        if m + (end - begin) > room:",
                "            return int(p), int(m)",
                *(f"        {line}" for line in fixed),
                "        for y in range(begin, end):",
                "            parents[m] = p",
                "            found[m] = y",
                *(f"            {line}" for line in moving),
                f"            m += uintp({' & '.join((*checks, *conditions))})",
                "    return int(n), int(m)",
                "",
            )
        )

    def condition(self, node: Expression) -> str:
        """Return the source of a condition: a truth value."""
        if not self._mixed(node):
            return f"({self._argument(node, 'truth')} != 0.0)"
        match node:
            case AllOf(items):
                return f"({' & '.join(map(self.condition, items))})"
            case AnyOf(items):
                return f"({' | '.join(map(self.condition, items))})"
            case Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case InList(operand, choices, negated):
                parts = [self._comparison("!=" if negated else "=", operand, c) for c in choices]
                return f"({(' & ' if negated else ' | ').join(parts)})"
            case IsNull(operand, negated):
                missing = self._missing(operand)
                return f"(not {missing})" if negated else missing
            case _:
                raise AssertionError("not a condition in the form that rewrite.without_not gives")

    def _comparison(self, operator: str, left: Expression, right: Expression) -> str:
        kinds = {self._kind(left), self._kind(right)}
        if "null" in kinds:
            return "False"
        if kinds == {"text"}:
            x, y = self._codes(left, right)
        else:
            x, y = self.value(left), self.value(right)
        if operator == "!=":  # NaN differs from everything, what is missing from nothing
            return f"(({x} < {y}) | ({x} > {y}))"
        return f"({x} {'==' if operator == '=' else operator} {y})"

    def _missing(self, operand: Expression) -> str:
        written = self.value(operand)
        return f"({written} != {written})"

    def value(self, node: Expression) -> str:
        """Return the source of a value: a float, NaN where it is missing."""
        if not self._mixed(node):
            return self._argument(node, "value")
        match node:
            case Negative(operand):
                return f"(0.0 - {self.value(operand)})"
            case Arithmetic(operator, left, right):
                x, y = self.value(left), self.value(right)
                match operator:
                    case "/":
                        return f"divided({x}, {y})"
                    case "%":
                        return f"remainder({x}, {y})"
                    case _:
                        return f"({x} {operator} {y})"
            case Call("corr", (left, right)):
                x, y = self._argument(left, "array"), self._argument(right, "array")
                return f"correlation({x}, {y})"
            case Call(function, arguments):
                written = self.value(arguments[0])
                if function in ("least", "greatest"):
                    for other in arguments[1:]:
                        written = f"{function}({written}, {self.value(other)})"
                    return written
                return f"{_NAMES[function]}({written})"
            case _:
                raise AssertionError("a condition stands where a value belongs")

    def _mixed(self, node: Expression) -> bool:
        """Whether the new variable and a bound one meet in `node`."""
        variables = variables_of(node)
        return self._variable in variables and len(variables) > 1

    def _kind(self, node: Expression) -> str:
        nothing = np.empty(0, dtype=np.int32)
        return value(node, lambda v, a: self._candidates[v].column(a).take(nothing)).kind

    def _codes(self, left: Expression, right: Expression) -> tuple[str, str]:
        """Return two texts, each about one variable, as codes into one dictionary."""
        columns = common_codes(self._column(left), self._column(right))
        names = []
        for side, column in zip((left, right), columns, strict=True):
            numbers = as_exact_floats(column)
            assert numbers is not None
            names.append(self._given(("codes", left, right, side), side, numbers, None))
        return names[0], names[1]

    def _column(self, node: Expression) -> Column:
        return value(node, lambda v, a: self._candidates[v].column(a))

    def _argument(self, node: Expression, role: str) -> str:
        """Return the name under which the loop is given `node`, which is about one side."""
        compute = _COMPUTE[role]
        if len(variables_of(node)) > 1:
            return self._given((role, node), node, None, lambda r, n: compute(node, r, n))
        size = len(self._candidates[min(variables_of(node))]) if variables_of(node) else 1
        numbers = compute(node, lambda v, a: self._candidates[v].column(a), size)
        return self._given((role, node), node, numbers, None)

    def _given(
        self,
        key: tuple[object, ...],
        node: Expression,
        numbers: Numbers | None,
        compute: Callable[[Read, int], Numbers] | None,
    ) -> str:
        if key in self._known:
            return self._known[key]
        variables = variables_of(node)
        if variables == {self._variable}:
            assert numbers is not None
            name = f"y{len(self.new)}"
            self.new.append(numbers)
        elif variables:
            name = f"x{len(self.bound)}"
            self.bound.append(
                Argument(min(variables) if len(variables) == 1 else None, numbers, compute)
            )
        else:
            assert numbers is not None
            name = f"k{len(self.constants)}"
            self.constants.append(float(numbers[0]))
        self._known[key] = name
        return name


_NAMES = {"abs": "abs", "sqrt": "root", "log": "logarithm"}


def _values(node: Expression, read: Read, size: int) -> Numbers:
    numbers = as_exact_floats(value(node, read))
    assert numbers is not None, "stays_exact was asked before"
    return numbers if len(numbers) == size else np.repeat(numbers, size)


def _truths(node: Expression, read: Read, size: int) -> Numbers:
    return truth(node, read, size).astype(np.float64)


def _arrays(node: Expression, read: Read, size: int) -> Numbers:
    rows = standardised(value(node, read), node)
    return rows if len(rows) == size else np.repeat(rows, size, axis=0)


_COMPUTE: dict[str, Callable[[Expression, Read, int], Numbers]] = {
    "value": _values,
    "truth": _truths,
    "array": _arrays,
}


def _of_chunk(
    argument: Argument, partials: Mapping[str, Ints], read: Read, size: int
) -> npt.NDArray[Any]:
    if argument.compute is not None:
        return argument.compute(read, size)
    assert argument.numbers is not None
    if argument.variable is None:
        return np.repeat(argument.numbers, size)
    return argument.numbers[partials[argument.variable]]
