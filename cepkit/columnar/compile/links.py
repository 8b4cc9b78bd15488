"""Parts of conditions: equalities, closed to classes of equal members, and bands."""

from __future__ import annotations

from collections.abc import Iterable, Set
from datetime import timedelta

from cepkit.columnar.compile.program import Band, Member
from cepkit.pattern.conditions import (
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    Expression,
    Literal,
    conjuncts,
    set_of_prev,
    variables_of,
)
from cepkit.pattern.durations import in_microseconds
from cepkit.pattern.rewrite import MIRRORED, without_not


def parts_of(conditions: Iterable[Expression]) -> list[Expression]:
    """Return the conjuncts of conditions, with NOT pushed inwards.

    A condition between members is kept whole: it is about members with others before them, and so
    are all its parts.
    """
    return [
        part
        for c in conditions
        for one in ((without_not(c),) if set_of_prev(c) else conjuncts(without_not(c)))
        for part in _two_sided(one)
    ]


def _two_sided(part: Expression) -> list[Expression]:
    """Return `b.ts - a.ts < 5 seconds` as `b.ts < a.ts + 5 seconds`, which can be a band.

    Times and durations are integers below 2^62, and only constants as small are moved: so nothing
    overflows, and both forms mean the same.
    """
    match part:
        case Comparison(operator, Literal(timedelta()) as constant, gap) if variables_of(gap):
            return _two_sided(Comparison(MIRRORED[operator], gap, constant, part.span))
        case Comparison(
            "<" | "<=" as operator,
            Call("abs", (Arithmetic("-", Attribute(), Attribute()) as gap,)),
            Literal(timedelta() as most) as constant,
        ):
            above = Comparison(MIRRORED[operator], gap, Literal(-most), part.span)
            below = Comparison(operator, gap, constant, part.span)
            return [*_two_sided(above), *_two_sided(below)]
        case Comparison(
            operator,
            Arithmetic("-", Attribute() as own, Attribute() as other),
            Literal(timedelta() as least) as constant,
        ) if abs(in_microseconds(least)) <= 2**62:
            return [Comparison(operator, own, Arithmetic("+", other, constant), part.span)]
        case _:
            return [part]


def is_link(part: Expression) -> bool:
    """Return whether `part` is an equality of attributes of two variables."""
    match part:
        case Comparison("=", Attribute(x), Attribute(y)):
            return x != y
        case _:
            return False


def ends_of(link: Expression) -> frozenset[Member]:
    """Return the two members that an equality links."""
    assert isinstance(link, Comparison)
    assert isinstance(link.left, Attribute)
    assert isinstance(link.right, Attribute)
    return frozenset((side.variable, side.name) for side in (link.left, link.right))


def classes_of(
    links: Iterable[Expression], known: Iterable[frozenset[Member]]
) -> list[frozenset[Member]]:
    """Return the classes of members that the links make equal, then the known classes."""
    classes: list[frozenset[Member]] = []
    for link in links:
        linked = [members for members in classes if members & ends_of(link)]
        classes = [members for members in classes if not members & ends_of(link)]
        classes.append(ends_of(link).union(*linked))
    return [*classes, *known]


def names_of(members: Iterable[Member]) -> set[str]:
    """Return the variables of members."""
    return {variable for variable, _ in members}


def band_of(part: Expression, new: Set[str]) -> Band | None:
    """Return a comparison of a term of the new variables only with a bound term, or None."""
    if not isinstance(part, Comparison) or part.operator == "!=":
        return None
    for own, other, operator in (
        (part.left, part.right, part.operator),
        (part.right, part.left, MIRRORED[part.operator]),
    ):
        about, bound = variables_of(own), variables_of(other)
        if about and about <= new and bound and not bound & new:
            return Band(own, operator, other)
    return None
