"""Weaker nodes: sub-patterns with fewer conditions, whose users check the rest on the rows.

Patterns with the same events, but different conditions or orders, can share a node with the
conditions that all of them have; of two bounds on one attribute, as `a.x > 10` and `a.x > 20`, it
has the looser one. A user with more conditions filters the node's rows. "a before b" counts as such
a condition, on the times of a and b; a branch with NOT keeps its order, because NOT depends on it.
NOT and the bounds of KL must still be equal.
Source: ours; MULTI requires equality.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from cepkit.pattern.canonical import canonical_conditions
from cepkit.pattern.conditions import Attribute, Comparison, Expression, Literal, variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.printer import expression_text
from cepkit.plan.negation import depends_on

Demands: TypeAlias = frozenset[Expression]
"""Conditions over `_0`, `_1`, ... in place of variables, in canonical form."""

TIME = "\0time"
"""The attribute that stands for an event's time in conditions on order; no column has this name."""


@dataclass(frozen=True, slots=True)
class Late:
    """The part of a branch that comes from a node with fewer conditions.

    Attributes:
        variables: The variables that the node binds: the first ones of the branch's order.
        demanded: The conditions on these that the node has.
        checked: The conditions that the branch checks on the node's rows.
    """

    variables: tuple[str, ...]
    demanded: tuple[Expression, ...]
    checked: tuple[Expression, ...]

    def text(self, variables: Sequence[str]) -> tuple[str, ...]:
        """Return the checked conditions as a text, with numbers for the variables."""
        names = {variable: f"_{place}" for place, variable in enumerate(variables)}
        return tuple(map(expression_text, canonical_conditions(self.checked, names)))


def check_text(condition: Expression) -> str:
    """Return a condition of a node as a text for users."""
    pair = _ordered(condition)
    return expression_text(condition) if pair is None else f"{pair[0]} before {pair[1]}"


def bare_branch(branch: Branch) -> Branch:
    """Return a branch without the conditions that a weaker node may leave out."""
    negated = {event.variable for event in branch.negated}
    about = tuple(c for c in branch.conditions if variables_of(c) & negated)
    return replace(branch, conditions=about, order=branch.order if negated else frozenset())


def weaker_branch(branch: Branch, late: Late) -> Branch:
    """Return a weaker sub-pattern as a branch of its own, with the NOTs that depend on it alone."""
    names = frozenset(late.variables)
    absent = {e.variable for e in branch.negated if depends_on(branch, e.variable) <= names}
    kept = names | absent
    pairs = branch.order
    if not branch.negated:
        pairs = frozenset(pair for each in late.demanded if (pair := _ordered(each)) is not None)
    demanded = (each for each in late.demanded if _ordered(each) is None)
    return replace(
        branch,
        positive=tuple(e for e in branch.positive if e.variable in names),
        negated=tuple(e for e in branch.negated if e.variable in absent),
        repeated=(),
        order=frozenset(pair for pair in pairs if kept.issuperset(pair)),
        conditions=(*demanded, *(c for c in branch.conditions if variables_of(c) & absent)),
    )


def order_demanded(branch: Branch) -> list[Expression]:
    """Return the order of a branch as conditions; none if it must keep its order."""
    pairs = () if branch.negated else sorted(branch.order)
    return [Comparison("<", Attribute(x, TIME), Attribute(y, TIME)) for x, y in pairs]


def _ordered(condition: Expression) -> tuple[str, str] | None:
    """Return the earlier and the later variable of a condition on order, else None."""
    match condition:
        case Comparison("<", Attribute(x, name), Attribute(y)) if name == TIME:
            return x, y
        case Comparison(">", Attribute(x, name), Attribute(y)) if name == TIME:
            return y, x
        case _:
            return None


def demands(conditions: Iterable[Expression], variables: Collection[str]) -> Demands:
    """Return the conditions on these variables only, with the variables numbered.

    Args:
        conditions: Those of a branch, including implied equalities and its order
            (`order_demanded`).
    """
    names = {variable: f"_{place}" for place, variable in enumerate(variables)}
    own = (c for c in conditions if variables_of(c) and variables_of(c) <= names.keys())
    return frozenset(canonical_conditions(own, names))


def late_of(own: Demands, demanded: Demands, variables: tuple[str, ...]) -> Late:
    """Return the `Late` of a branch with more conditions than a node, over its own variables."""
    names = {f"_{place}": variable for place, variable in enumerate(variables)}
    return Late(
        variables,
        canonical_conditions(demanded, names),
        canonical_conditions(own - demanded, names),
    )


def meet(one: Demands, other: Demands) -> Demands:
    """Return the conditions that two imply: the looser of two bounds, and no order if they differ.

    SEQ and AND may not be able to express the common part of two orders.
    """
    if {c for c in one if _ordered(c)} != {c for c in other if _ordered(c)}:
        one, other = (frozenset(c for c in each if not _ordered(c)) for each in (one, other))
    both = one & other
    # Sorted, because the order of sets differs between processes.
    others = sorted(other - both, key=expression_text)
    bounds = {_side(each): each for each in others if _side(each) is not None}
    looser = {
        _looser(each, bounds[side])
        for each in one - both
        if (side := _side(each)) is not None and side in bounds
    }
    return both | looser


def meet_of_all(several: Iterable[Demands]) -> Demands:
    """Return the conditions that each of several implies."""
    return reduce(meet, several)


def implies(own: Demands, demanded: Demands) -> bool:
    """Return whether `own` implies all conditions of a node."""
    return demanded <= own or meet(own, demanded) == demanded


def _side(condition: Expression) -> tuple[Expression, str] | None:
    """Return the expression bounded by a number, and the operator."""
    match condition:
        case Comparison("<" | "<=" | ">" | ">=" as operator, left, Literal(value)) if isinstance(
            value, int | float
        ) and not isinstance(value, bool):
            return left, operator
        case _:
            return None


def _looser(one: Expression, other: Expression) -> Expression:
    match one, other:
        case (
            Comparison(operator, right=Literal(int() | float() as first)),
            Comparison(right=Literal(int() | float() as second)),
        ):
            least = min(first, second) if operator.startswith(">") else max(first, second)
            return one if least == first else other
        case _:
            raise AssertionError
