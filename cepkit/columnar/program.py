"""A program: what each step of an order plan looks up, compares and checks.

The conditions of a branch are dealt out to the steps: each goes to the first step at which all
its variables are bound. There it becomes, from cheap to dear,
- an equality of two attributes: a class, looked up by key. Classes are closed: a.k = b.k and
  b.k = c.k link a with c too, whatever the order;
- a band, where one side is about the new variable alone and the other about bound ones:
  `least <= column <= most` in the inner loop;
- a residue: anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import (
    Attribute,
    Comparison,
    ComparisonOperator,
    Expression,
    attributes_of,
    conjuncts,
    variables_of,
)
from cepkit.pattern.nodes import Event
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.rewrite import MIRRORED, without_not

Member = tuple[str, str | None]
"""A variable and an attribute on which it agrees with others; None: the partition it is in."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The new event is not before (or, as upper bound, before) `ts(variable) + delta`."""

    variable: str
    delta: int


@dataclass(frozen=True, slots=True)
class Band:
    """`own operator other`: the new variable's side, and the side that is bound already."""

    own: Expression
    operator: ComparisonOperator
    other: Expression


@dataclass(frozen=True, slots=True)
class Step:
    """How one variable is added to the partial matches.

    Attributes:
        event: The new variable and its types.
        filters: Conditions on the new variable alone.
        classes: The equality classes that it belongs to and a bound variable too.
        lower: It is not before any of these.
        upper: It is before all of these.
        bands: Conditions that compare it with bound variables, side by side.
        residues: The other conditions that can be checked now.
        distinct_from: Bound variables that could be the same event.
    """

    event: Event
    filters: tuple[Expression, ...]
    classes: tuple[int, ...]
    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]
    bands: tuple[Band, ...]
    residues: tuple[Expression, ...]
    distinct_from: tuple[str, ...]

    @property
    def variable(self) -> str:
        """The new variable."""
        return self.event.variable


@dataclass(frozen=True, slots=True)
class Program:
    """An order plan of one branch, ready to be bound to columns.

    Attributes:
        variables: The variables of a match, in pattern order.
        steps: In the order of the plan.
        classes: Sets of (variable, attribute) that are equal in every match.
        last: The variables that can be the last event of a match.
        window: Microseconds between first and last event, None for any.
        attributes: All attributes that conditions read.
        partition_by: The attributes of the partition.
        constants: Conditions about no variable at all.
    """

    variables: tuple[str, ...]
    steps: tuple[Step, ...]
    classes: tuple[frozenset[Member], ...]
    last: tuple[str, ...]
    window: int | None
    attributes: frozenset[str]
    partition_by: tuple[str, ...]
    constants: tuple[Expression, ...]

    @property
    def columns(self) -> frozenset[str]:
        """All columns that evaluation reads beside time and type."""
        return self.attributes | frozenset(self.partition_by)


def refuse_unsupported(branch: Branch) -> None:
    """Refuse, by name, what the engine cannot detect.

    Raises:
        UnsupportedError: The branch has such a part.
    """
    part = None
    if branch.negated:
        part = f"NOT ('{branch.negated[0].variable}')"
    elif branch.repeated:
        part = f"KL ('{branch.repeated[0][0]}')"
    elif isinstance(branch.window, CountWindow):
        part = f"WITHIN {branch.window.events} EVENTS"
    elif branch.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        part = f"STRATEGY {branch.strategy.value}"
    if part:
        raise UnsupportedError(
            f"this release cannot detect {part} yet",
            expected="SEQ, AND and OR within a time window, under skip-till-any-match",
        )


def window_length(branch: Branch) -> int | None:
    """Return the greatest difference of times inside a match in microseconds; None: any."""
    if isinstance(branch.window, TimeWindow):
        return branch.window.microseconds - branch.window.exclusive
    return None


def compile_branch(branch: Branch, order: Sequence[str]) -> Program:
    """Return the program that evaluates `branch` in `order`.

    Args:
        branch: One branch of a normal form.
        order: A permutation of its variables.

    Raises:
        UnsupportedError: The branch has a part that the engine cannot detect.
    """
    refuse_unsupported(branch)
    window = window_length(branch)
    parts = [p for c in branch.conditions for p in conjuncts(without_not(c))]
    links = [part for part in parts if _is_link(part)]
    parts = [part for part in parts if part not in links]
    classes = _close(links, branch)
    steps = []
    bound: list[str] = []
    for variable in order:
        now = {*bound, variable}
        due = [p for p in parts if variable in variables_of(p) and variables_of(p) <= now]
        bands = [_band(part, variable) for part in due]
        steps.append(
            Step(
                branch.event(variable),
                tuple(p for p in due if variables_of(p) == {variable}),
                tuple(
                    number
                    for number, members in enumerate(classes)
                    if variable in _names(members) and _names(members) & set(bound)
                ),
                _lower(branch, variable, bound, window),
                _upper(branch, variable, bound, window),
                tuple(band for band in bands if band is not None),
                tuple(
                    part
                    for part, band in zip(due, bands, strict=True)
                    if band is None and len(variables_of(part)) > 1
                ),
                tuple(x for x in bound if _may_coincide(branch, x, variable)),
            )
        )
        bound.append(variable)
    return Program(
        branch.variables,
        tuple(steps),
        classes,
        tuple(v for v in branch.variables if not branch.after(v)),
        window,
        frozenset(name for c in branch.conditions for _, name in attributes_of(c)),
        branch.partition_by,
        tuple(part for part in parts if not variables_of(part)),
    )


def _is_link(part: Expression) -> bool:
    """Whether `part` is an equality of attributes of two variables."""
    match part:
        case Comparison("=", Attribute(x), Attribute(y)):
            return x != y
        case _:
            return False


def _close(links: Iterable[Expression], branch: Branch) -> tuple[frozenset[Member], ...]:
    """Return the classes of members that the links make equal."""
    classes: list[set[Member]] = []
    for link in links:
        assert isinstance(link, Comparison)
        ends: set[Member] = set()
        for side in (link.left, link.right):
            assert isinstance(side, Attribute)
            ends.add((side.variable, side.name))
        touched = [members for members in classes if members & ends]
        classes = [members for members in classes if not members & ends]
        classes.append(ends.union(*touched))
    if branch.partition_by:
        classes.append({(variable, None) for variable in branch.variables})
    return tuple(frozenset(members) for members in classes)


def _names(members: Iterable[Member]) -> set[str]:
    return {variable for variable, _ in members}


def _band(part: Expression, variable: str) -> Band | None:
    if not isinstance(part, Comparison) or part.operator == "!=":
        return None
    for own, other, operator in (
        (part.left, part.right, part.operator),
        (part.right, part.left, MIRRORED[part.operator]),
    ):
        bound = variables_of(other)
        if variables_of(own) == {variable} and bound and variable not in bound:
            return Band(own, operator, other)
    return None


def _lower(
    branch: Branch, variable: str, bound: Sequence[str], window: int | None
) -> tuple[Bound, ...]:
    before = [x for x in bound if x in branch.before(variable)]
    if before:
        # Later than the latest of those before it; all the others follow from that.
        latest = [x for x in before if not branch.after(x) & set(before)]
        return tuple(Bound(x, 1) for x in latest)
    if window is None:
        return ()
    latest = [x for x in bound if not branch.after(x) & set(bound)]
    return tuple(Bound(x, -window) for x in latest)


def _upper(
    branch: Branch, variable: str, bound: Sequence[str], window: int | None
) -> tuple[Bound, ...]:
    after = [x for x in bound if x in branch.after(variable)]
    if after:
        earliest = [x for x in after if not branch.before(x) & set(after)]
        return tuple(Bound(x, 0) for x in earliest)
    if window is None:
        return ()
    earliest = [x for x in bound if not branch.before(x) & set(bound)]
    return tuple(Bound(x, window + 1) for x in earliest)


def _may_coincide(branch: Branch, x: str, y: str) -> bool:
    if y in branch.before(x) or y in branch.after(x):
        return False
    first, second = branch.event(x).types, branch.event(y).types
    return first is None or second is None or bool(first & second)
