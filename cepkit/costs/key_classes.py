"""Classes of variables whose keys must all agree.

`a.k = b.k AND b.k = c.k` makes a class of three: a and c agree too, and the engine looks them up by
their keys. The statistics have the pairs of the pattern; we assume that other pairs of a class
agree as often as the geometric mean of those. So a set S of variables of a class of share s has

    s^(|S| - 1 - number of pairs in S that the pattern names)

as an extra factor beside the selectivities of those pairs: one s for each pair that is only
implied, and no extra factor where the pattern says the same thing twice. O(conditions). Source:
ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from cepkit.components import components
from cepkit.pattern.conditions import Attribute, Comparison, variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log
from cepkit.statistics.model import Statistics

_Node = tuple[str, tuple[str, ...]]
"""A variable, and its attributes that must equal another's."""


@dataclass(frozen=True, slots=True)
class KeyClass:
    """Three or more variables whose keys agree.

    Attributes:
        variables: The variables.
        pairs: The pairs of variables that the pattern equates.
        log_share: ln(share of pairs of events that agree).
    """

    variables: frozenset[str]
    pairs: tuple[frozenset[str], ...]
    log_share: float


def key_classes(branch: Branch, statistics: Statistics) -> tuple[KeyClass, ...]:
    """Return the classes of three or more positive variables of a branch.

    Classes whose share of equal keys is unknown or 0 are left out.
    """
    edges: dict[frozenset[_Node], frozenset[str]] = {}
    for pair, attributes in _equated(branch).items():
        one, other = sorted(pair)
        first, second = zip(*sorted(attributes), strict=True)
        edges[frozenset(((one, first), (other, second)))] = pair
    classes = []
    for nodes in components((first, second) for first, second in edges):
        variables = frozenset(variable for variable, _ in nodes)
        pairs = tuple(pair for edge, pair in edges.items() if edge <= nodes)
        shares = [_share(pair, branch, statistics) for pair in pairs]
        positive_shares = [share for share in shares if share]
        # Two attributes of one variable that must be equal do not make a class.
        if 2 < len(variables) == len(nodes) and len(positive_shares) == len(pairs):
            mean = math.fsum(map(log, positive_shares)) / len(positive_shares)
            classes.append(KeyClass(variables, pairs, mean))
    return tuple(classes)


def _equated(branch: Branch) -> Mapping[frozenset[str], set[tuple[str, str]]]:
    """Return, for each pair of positive variables, the attributes that must be equal."""
    equated: dict[frozenset[str], set[tuple[str, str]]] = {}
    for condition in branch.conditions:
        match condition:
            case Comparison("=", Attribute(x, of_x), Attribute(y, of_y)) if x != y:
                if {x, y} <= {*branch.variables}:
                    pair = (of_x, of_y) if x < y else (of_y, of_x)
                    equated.setdefault(frozenset((x, y)), set()).add(pair)
            case _:
                pass
    return equated


def _share(pair: frozenset[str], branch: Branch, statistics: Statistics) -> float | None:
    """Return the share of equal keys of a pair; None if unknown."""
    measured = statistics.equalities.get(pair)
    if measured is not None:
        return measured.in_window.share
    assumed = statistics.selectivities.get(pair)
    equalities = all(
        isinstance(condition, Comparison) and condition.operator == "="
        for condition in branch.conditions
        if variables_of(condition) == pair
    )
    return assumed.share if assumed is not None and equalities else None


def linked_by_equality(branch: Branch) -> frozenset[frozenset[str]]:
    """Return the pairs of variables linked by an equality."""
    return frozenset(
        frozenset((left, right))
        for condition in branch.conditions
        if isinstance(condition, Comparison) and condition.operator == "="
        for left, right in [_variables(condition)]
        if left and right and left != right
    )


def _variables(condition: Comparison) -> tuple[str | None, str | None]:
    left, right = condition.left, condition.right
    return (
        left.variable if isinstance(left, Attribute) else None,
        right.variable if isinstance(right, Attribute) else None,
    )
