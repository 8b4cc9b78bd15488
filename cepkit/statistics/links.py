"""Equalities between attributes of two variables: the keys by which the engine finds partners.

Two variables are linked if a condition equates an attribute of one with an attribute of the other;
all such conditions of a pair form one link. The values become integers that are equal exactly if
the attributes are. O(n) for n events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.indexing import value_codes
from cepkit.pattern.conditions import Attribute, Comparison, Expression, variables_of
from cepkit.pattern.evaluation.columns import common_codes
from cepkit.pattern.evaluation.kinds import as_floats
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch, written_branches
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import without_not
from cepkit.stream.columns import Column, Kind

Codes = npt.NDArray[np.int64]

_NUMBERS = ("integer", "float")


@dataclass(frozen=True, slots=True)
class Link:
    """The attributes that must be equal between the events of two variables.

    Attributes:
        first: The variable whose name comes first.
        second: The other variable.
        attributes: Pairs of an attribute of the first and an attribute of the second, in order.
        conditions: The equalities themselves.
    """

    first: str
    second: str
    attributes: tuple[tuple[str, str], ...]
    conditions: tuple[Expression, ...]

    @property
    def variables(self) -> frozenset[str]:
        """The two variables."""
        return frozenset((self.first, self.second))

    def of(self, variable: str) -> tuple[str, ...]:
        """Return the attributes of one of the two variables."""
        place = 0 if variable == self.first else 1
        return tuple(pair[place] for pair in self.attributes)


def links_of(branch: Branch, kinds: Mapping[str, Kind]) -> dict[frozenset[str], Link]:
    """Return the links between the variables of a branch, also of those under NOT.

    Args:
        kinds: The kinds of the attributes that the conditions read. Values that need a conversion
            before a comparison, as a time and a text, make no key.
    """
    equated: dict[frozenset[str], list[tuple[str, str, Expression]]] = {}
    for condition in branch.conditions:
        match without_not(condition):
            case Comparison("=", Attribute(x, of_x), Attribute(y, of_y)) if x != y:
                if not _comparable(kinds[of_x], kinds[of_y]):
                    continue
                pair = (of_x, of_y) if x < y else (of_y, of_x)
                equated.setdefault(variables_of(condition), []).append((*pair, condition))
            case _:
                pass
    return {
        names: Link(
            min(names),
            max(names),
            tuple(sorted({(one, other) for one, other, _ in parts})),
            tuple(condition for _, _, condition in parts),
        )
        for names, parts in equated.items()
    }


def links_in(query: Query, kinds: Mapping[str, Kind]) -> dict[frozenset[str], Link]:
    """Return the links of all branches of a query, by their two variables."""
    links: dict[frozenset[str], Link] = {}
    for branch in written_branches(query):
        for names, link in links_of(branch, kinds).items():
            links.setdefault(names, link)
    return links


@dataclass(frozen=True, slots=True)
class KeySource:
    """The attributes of a key, and the variables whose events have such keys.

    Attributes:
        attributes: One, or several that make a key together.
        variables: The variables whose events are counted, by their types.
        missing_agree: Whether events without a value share a key, as in PARTITION BY.
    """

    attributes: tuple[str, ...]
    variables: frozenset[str]
    missing_agree: bool = False


def key_sources(query: Query, links: Iterable[Link]) -> tuple[KeySource, ...]:
    """Return the keys that a query compares: those of PARTITION BY, then those of the links."""
    sources: dict[tuple[str, ...], KeySource] = {}
    if query.partition_by:
        everyone = frozenset(event.variable for event in events_of(query.structure))
        sources[query.partition_by] = KeySource(query.partition_by, everyone, missing_agree=True)
    for link in links:
        for variable in (link.first, link.second):
            attributes = link.of(variable)
            source = sources.get(attributes)
            if source is None or not source.missing_agree:
                before = frozenset[str]() if source is None else source.variables
                sources[attributes] = KeySource(attributes, before | {variable})
    return tuple(sources.values())


def _comparable(one: Kind, other: Kind) -> bool:
    if "array" in (one, other):
        return False
    return "null" in (one, other) or one == other or (one in _NUMBERS and other in _NUMBERS)


def link_codes(columns: Mapping[str, Column], link: Link) -> tuple[Codes, Codes]:
    """Return for each event its key as the link's first variable and as its second.

    Keys are integers from 0, equal if all attributes agree; -1 if one is missing, because a missing
    value equals nothing.
    """
    first = second = np.zeros(0, np.int64)
    for number, (one, other) in enumerate(link.attributes):
        u, v = _codes(columns[one], columns[other])
        first, second = (u, v) if number == 0 else _joined((first, second), (u, v))
    return first, second


def _joined(known: tuple[Codes, Codes], new: tuple[Codes, Codes]) -> tuple[Codes, Codes]:
    """Return codes of pairs of codes, dense again."""
    size = max(int(codes.max(initial=-1)) for codes in new) + 1
    both = [np.where((k < 0) | (n < 0), -1, k * size + n) for k, n in zip(known, new, strict=True)]
    return _dense(*both)


def _codes(one: Column, other: Column) -> tuple[Codes, Codes]:
    size = len(one.values)
    if "null" in (one.kind, other.kind):
        nothing = np.full(size, -1, np.int64)
        return nothing, nothing
    if one.kind == other.kind == "text":
        one, other = common_codes(one, other)
        return one.values.astype(np.int64), other.values.astype(np.int64)
    values: list[npt.NDArray[np.generic]]
    if "float" in (one.kind, other.kind):
        values = [as_floats(one), as_floats(other)]
    else:
        values = [one.values, other.values]
    missing = [column.missing() for column in (one, other)]
    if one is other:
        codes = value_codes(values[0])[0].astype(np.int64)
        codes[missing[0]] = -1
        return codes, codes
    codes = value_codes(np.concatenate(values))[0].astype(np.int64)
    codes[np.concatenate(missing)] = -1
    return codes[:size], codes[size:]


def _dense(first: Codes, second: Codes) -> tuple[Codes, Codes]:
    """Return keys as numbers without gaps."""
    _, codes = np.unique(np.concatenate((first, second, [-1])), return_inverse=True)
    codes = codes.astype(np.int64) - 1  # the least is -1
    return codes[: len(first)], codes[len(first) : -1]
