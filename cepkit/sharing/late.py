"""Weaker nodes: a sub-pattern with fewer conditions, of whose rows each user checks the rest.

Patterns that have the same events in the same order, but other conditions about them, share a node
that demands what all of them do; of two bounds on one attribute, as `a.x > 10` and `a.x > 20`, the
looser. Who demands more filters its rows. Order, NOT and the bounds of KL must still be equal.
Source: ours; the source demands equality.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from cepkit.pattern.canonical import canonical_conditions
from cepkit.pattern.conditions import Comparison, Expression, Literal, variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.printer import expression_text
from cepkit.plan.negation import depends_on

Demands: TypeAlias = frozenset[Expression]
"""Conditions over `_0`, `_1`, ... in place of variables, each in one form."""


@dataclass(frozen=True, slots=True)
class Late:
    """What a branch takes from a node that demands less than the branch does.

    Attributes:
        variables: Those of the branch that the node binds: the first of its order.
        demanded: The conditions about these that the node demands.
        checked: Those that the branch checks on the node's rows.
    """

    variables: tuple[str, ...]
    demanded: tuple[Expression, ...]
    checked: tuple[Expression, ...]

    def text(self, variables: Sequence[str]) -> tuple[str, ...]:
        """Return what is checked, the variables numbered as they stand."""
        names = {variable: f"_{place}" for place, variable in enumerate(variables)}
        return tuple(map(expression_text, canonical_conditions(self.checked, names)))


def without_conditions(branch: Branch) -> Branch:
    """Return a branch with no conditions but those about what must be absent."""
    negated = {event.variable for event in branch.negated}
    about = tuple(c for c in branch.conditions if variables_of(c) & negated)
    return replace(branch, conditions=about)


def weaker_branch(branch: Branch, late: Late) -> Branch:
    """Return a weaker sub-pattern as a branch of its own, with the NOTs that depend on it alone."""
    names = frozenset(late.variables)
    absent = {e.variable for e in branch.negated if depends_on(branch, e.variable) <= names}
    kept = names | absent
    return replace(
        branch,
        positive=tuple(e for e in branch.positive if e.variable in names),
        negated=tuple(e for e in branch.negated if e.variable in absent),
        repeated=(),
        order=frozenset(pair for pair in branch.order if kept.issuperset(pair)),
        conditions=(*late.demanded, *(c for c in branch.conditions if variables_of(c) & absent)),
    )


def demands(conditions: Iterable[Expression], variables: Collection[str]) -> Demands:
    """Return what is demanded of some variables alone, numbered as they stand.

    Args:
        conditions: Those of a branch, implied equalities included.
        variables: Its variables.
    """
    names = {variable: f"_{place}" for place, variable in enumerate(variables)}
    own = (c for c in conditions if variables_of(c) and variables_of(c) <= names.keys())
    return frozenset(canonical_conditions(own, names))


def late_of(own: Demands, demanded: Demands, variables: tuple[str, ...]) -> Late:
    """Return what a branch that demands more takes from a node, over its own variables."""
    names = {f"_{place}": variable for place, variable in enumerate(variables)}
    return Late(
        variables,
        canonical_conditions(demanded, names),
        canonical_conditions(own - demanded, names),
    )


def meet(one: Demands, other: Demands) -> Demands:
    """Return what two both demand; of two bounds on the same side the looser."""
    both = one & other
    bounds = {_side(each): each for each in other - both if _side(each) is not None}
    looser = {
        _looser(each, bounds[side])
        for each in one - both
        if (side := _side(each)) is not None and side in bounds
    }
    return both | looser


def meet_of_all(several: Iterable[Demands]) -> Demands:
    """Return what all demand."""
    return reduce(meet, several)


def implies(own: Demands, demanded: Demands) -> bool:
    """Return whether all that is demanded holds where `own` does."""
    return demanded <= own or meet(own, demanded) == demanded


def _side(condition: Expression) -> tuple[Expression, str] | None:
    """Return what a bound by a number is on, and its operator."""
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
