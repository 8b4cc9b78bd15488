"""Generates the source of join loops and residual predicates.

There is one join loop for each number of bands. A condition such as `a.price + b.price < 2 *
c.price OR a.k != c.k` cannot be split into two sides. For a step with such a residual predicate a
special loop evaluates it for each candidate, an order of magnitude faster than NumPy on the output
of a looser loop (benchmarks/engine.py). For first-match search, which visits few candidates of many
steps, all residual predicates of a query become one function.

Generated source compiles once for each shape. A module's name is derived from its content, so that
later processes find its cached loops. The source itself is never on disk, where somebody could
replace it.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.abc import ExecutionLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.slices.candidates import Candidates, reader
from cepkit.pattern.conditions import Expression
from cepkit.pattern.evaluation.columns import Read
from cepkit.pattern.evaluation.source import (
    ConditionWriter,
    Numbers,
    Operand,
    can_be_written,
    helpers_in,
)

_HEAD = '''"""An inner loop that cepkit wrote (cepkit/columnar/join/generated.py)."""

from numpy import uintp

from cepkit.compiling import addressed
from cepkit.compiling import compiled as helper
'''


def module_text(text: str) -> str:
    """Return the source of a module: the output of `generated`, and the functions that it calls."""
    lines = [_HEAD]
    for name, function in helpers_in(text).items():
        lines += [f"from {function.__module__} import {name}", f"{name} = helper({name})"]
    return "\n".join((*lines, "", text))


_loading = threading.Lock()
"""Held while a module's code runs: until then other threads would see it without its functions."""


@cache
def load(text: str) -> types.ModuleType:
    """Return the module with the output of `generated`."""
    source = module_text(text)
    name = f"cepkit_loop_{hashlib.sha256(source.encode()).hexdigest()[:24]}"
    with _loading:
        if name not in sys.modules:
            loader = _Source(source)
            spec = spec_from_loader(name, loader)
            assert spec is not None
            module = module_from_spec(spec)
            # Register it before its code runs: Numba looks up a cached function's module by name.
            sys.modules[name] = module
            try:
                loader.exec_module(module)
            except BaseException:  # as Ctrl-C: half a module would stay
                del sys.modules[name]
                raise
        return sys.modules[name]


class _Source(ExecutionLoader):
    """Loads a module from a text without a file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - the name of the module
        return self._source

    def get_filename(self, fullname: str) -> str:
        return f"<{fullname}>"


Ints = npt.NDArray[np.int32]

JoinLoop = Callable[..., tuple[int, int]]
"""Writes the pairs of a partial match and a candidate that satisfy all bands, while there is room.

Args:
    low: int32[partials], the first candidate in the range of each partial match.
    high: int32[partials], the end of its range.
    first: The partial match to begin with.
    parents: int32[room], the output: the partial match of each pair.
    candidates: int32[room], the output: the candidate of each pair.
    bands: For each band float64[partials], float64[partials] and float64[candidates]: the least and
        the greatest value of each partial match, and the column.
    operands: Of the residual predicate: float64[partials] for bound variables, float64[candidates]
        for the new one (of arrays a row of numbers for each), then constants.

Returns:
    The first partial match without room for its whole range (or the number of partial matches if
    all fit), and the number of pairs.
"""

CountLoop = Callable[..., tuple[int, int]]
"""Counts the pairs that a `JoinLoop` would write.

Args:
    low: int32[partials], as for a join.
    high: int32[partials], as for a join.
    first: As for a join.
    most: Candidates after which it returns, so that it can be interrupted.
    bands: As for a join.
    operands: As for a join.

Returns:
    The first partial match that it has not come to, and the number of pairs.
"""

ExistsLoop = Callable[..., None]
"""Finds for each partial match whether any candidate in its range is in all bands.

Args:
    low: int32[partials], as for a join.
    high: int32[partials], as for a join.
    present: bool[partials], the output.
    bands: As for a join.
"""


FirstLoop = Callable[..., None]
"""Finds for each partial match the first candidate in its range that is in all bands.

Args:
    low: int32[partials], as for a join.
    high: int32[partials], as for a join.
    times: int64[candidates], the time of each candidate.
    until: int64[partials], the time at which the search ends.
    found: int32[partials], the output: the candidate, -1 for none.
    bands: As for a join.
"""


@dataclass(frozen=True, slots=True)
class GeneratedJoin:
    """A join with a residual predicate and its operands.

    Attributes:
        bound: Operands on bound variables, gathered for each chunk of partial matches: the numbers
            of one variable's candidates, or an operand on several variables.
        others: Operands that are the same for all chunks.
    """

    join: JoinLoop | CountLoop
    bound: tuple[tuple[str, Numbers] | Operand, ...]
    others: tuple[Any, ...]

    def operands(
        self, partials: Mapping[str, Ints], read: Read, size: int
    ) -> tuple[npt.NDArray[Any], ...]:
        """Return the loop's last arguments for a chunk of partial matches."""
        chunk = (
            operand.numbers(read, size)
            if isinstance(operand, Operand)
            else operand[1][partials[operand[0]]]
            for operand in self.bound
        )
        return (*chunk, *self.others)


def generate(
    conditions: Sequence[Expression],
    variable: str,
    candidates: Mapping[str, Candidates],
    *,
    bands: int = 0,
    counts: bool = False,
) -> GeneratedJoin | None:
    """Return a join that adds `variable` and checks bands and `conditions`; None if impossible.

    Args:
        conditions: As `rewrite.without_not` gives them, all about `variable` and bound ones.
        bands: The number of bands that the loop checks first.
        counts: Whether it counts the pairs only.
    """
    read = reader(candidates)
    if not all(can_be_written(condition, read) for condition in conditions):
        return None
    bound: list[tuple[str, Numbers] | Operand] = []
    new: list[Numbers] = []
    constants: list[float] = []
    names: dict[Operand, str] = {}

    def name(operand: Operand) -> str:
        if operand not in names:
            names[operand] = place(operand)
        return names[operand]

    def place(operand: Operand) -> str:
        about = operand.variables
        if len(about) > 1:
            bound.append(operand)
            return f"x{len(bound) - 1}"
        one = next(iter(about), None)
        numbers = operand.numbers(read, 1 if one is None else len(candidates[one]))
        if one is None:
            constants.append(float(numbers[0]))
            return f"k{len(constants) - 1}"
        if one == variable:
            new.append(numbers)
            return f"y{len(new) - 1}"
        bound.append((one, numbers))
        return f"x{len(bound) - 1}"

    writer = ConditionWriter(read, lambda about: variable in about and len(about) > 1, name)
    predicate = writer.all_of(conditions)
    shape = bands, len(bound), len(new), len(constants), predicate
    loop = _loop("count" if counts else "join", *shape)
    return GeneratedJoin(loop, tuple(bound), (*new, *constants))


_LOOPS = {
    "join": """\
@helper
def join(low, high, first, parents, candidates{names}):
    n = uintp(low.size)
    room = uintp(parents.size)
    m = uintp(0)
    for p in range(uintp(first), n):
        if high[p] <= low[p]:
            continue
        begin, end = uintp(low[p]), uintp(high[p])
        if m + (end - begin) > room:
            return int(p), int(m)
        {of_partial}
        for y in range(begin, end):
            parents[m] = p
            candidates[m] = y
            {of_candidate}
            m += uintp({test})
    return int(n), int(m)
""",
    "count": """\
@helper
def count(low, high, first, most{names}):
    n = uintp(low.size)
    left = uintp(most)
    m = uintp(0)
    for p in range(uintp(first), n):
        if high[p] <= low[p]:
            continue
        begin, end = uintp(low[p]), uintp(high[p])
        if left == uintp(0):
            return int(p), int(m)
        left -= min(left, end - begin)
        {of_partial}
        for y in range(begin, end):
            {of_candidate}
            m += uintp({test})
    return int(n), int(m)
""",
    "exists": """\
@helper
def exists(low, high, present{names}):
    for p in range(uintp(low.size)):
        present[p] = False
        if high[p] <= low[p]:
            continue
        {of_partial}
        for y in range(uintp(low[p]), uintp(high[p])):
            {of_candidate}
            if {test}:
                present[p] = True
                break
""",
    "first": """\
@helper
def first(low, high, times, until, found{names}):
    for p in range(uintp(low.size)):
        found[p] = -1
        if high[p] <= low[p]:
            continue
        {of_partial}
        for y in range(uintp(low[p]), uintp(high[p])):
            if times[y] >= until[p]:
                break
            {of_candidate}
            if {test}:
                found[p] = y
                break
""",
}
"""The loops; `source` adds what they read of a partial match and of a candidate, and the test."""


@cache  # it is asked for every chunk, and to write the source takes as long as a short loop
def _loop(name: str, *shape: Any) -> Callable[..., Any]:
    """Return a compiled loop; the shape is that of `source`."""
    loop: Callable[..., Any] = getattr(load(source(name, *shape)), name)
    return loop


join_of: Callable[[int], JoinLoop] = partial(_loop, "join")
"""Returns the join of a number of bands."""
count_of: Callable[[int], CountLoop] = partial(_loop, "count")
"""Returns the count of the pairs of a join."""
exists_of: Callable[[int], ExistsLoop] = partial(_loop, "exists")
"""Returns the search for any candidate in a number of bands."""
first_of: Callable[[int], FirstLoop] = partial(_loop, "first")
"""Returns the search for the first candidate in a number of bands."""


def source(
    name: str, bands: int, bound: int = 0, new: int = 0, constants: int = 0, predicate: str = ""
) -> str:
    """Return the source of a loop.

    Args:
        name: One of `_LOOPS`.
        bands: The number of bands.
        bound: The number of operands on bound variables.
        new: The number of those on the new one.
        constants: The number of constants.
        predicate: The residual predicate; empty for none.
    """
    names, of_partial, of_candidate, checks = [], [], [], []
    for i in range(bands):
        names += [f"l{i}", f"u{i}", f"b{i}"]
        of_partial += [f"low{i} = l{i}[p]", f"high{i} = u{i}[p]"]
        of_candidate += [f"v{i} = b{i}[y]"]
        checks += [f"(v{i} >= low{i})", f"(v{i} <= high{i})"]
    for i in range(bound):
        names += [f"p{i}"]
        of_partial += [f"x{i} = p{i}[p]"]
    for i in range(new):
        names += [f"c{i}"]
        of_candidate += [f"y{i} = c{i}[y]"]
    names += [f"k{i}" for i in range(constants)]
    checks += [predicate] if predicate else []
    reads = {"{of_partial}": of_partial, "{of_candidate}": of_candidate}
    lines: list[str] = []
    for line in _LOOPS[name].splitlines():
        inside = line.lstrip()
        indent = " " * (len(line) - len(inside))
        lines += [indent + read for read in reads.get(inside, [inside])]
    arguments = "".join(f", {each}" for each in names)
    text = "\n".join((*lines, ""))
    return text.replace("{names}", arguments).replace("{test}", " & ".join(checks) or "1")


class Predicates:
    """Collects residual predicates of a query's searches into one compiled function."""

    def __init__(self) -> None:
        self._shapes: dict[str, int] = {}

    def add(
        self, conditions: Sequence[Expression], candidates: Mapping[str, Candidates]
    ) -> tuple[int, list[Operand]]:
        """Return the number of a predicate's shape, and its operands in their order.

        Args:
            conditions: Conditions that can be generated; all must hold.
            candidates: Of all variables; each operand is about one of them at most.
        """
        operands: dict[Operand, str] = {}

        def name(operand: Operand) -> str:
            return operands.setdefault(operand, f"v[{len(operands)}]")

        writer = ConditionWriter(reader(candidates), lambda about: len(about) > 1, name)
        shape = writer.all_of(conditions)
        return self._shapes.setdefault(shape, len(self._shapes)), [*operands]

    def compiled(self) -> Any:
        """Return the compiled function (number of a shape, pointer to operands) -> bool."""
        return load(_predicate([*self._shapes])).predicate


def _predicate(shapes: Sequence[str]) -> str:
    """Return the source of a function that compiled code can call by its address."""
    types = '"boolean(int64, CPointer(float64))", "FunctionType[bool(int64, float64*)]"'
    lines = [f"@addressed({types})"]
    lines += ["def predicate(shape, v):"]
    for number, written in enumerate(shapes):
        lines += [f"    if shape == {number}:", f"        return {written}"]
    return "\n".join((*lines, "    return True", ""))
