"""The translation of a row pattern query to an equivalent cepkit pattern, if there is one.

cepkit finds all matches, SQL one for each start. A pattern with a fixed number of rows has at most
one for each start; so a sequence of variables becomes the same sequence under contiguity, with the
same skip. `B?` at the end becomes a greedy OPT, and `B*` a greedy run: no later row asks for one of
theirs. Everything else is refused by name and place. SELECT and MEASURES are not part of the
pattern: `detect` returns a column for each variable and attribute.

What DEFINE says of a row alone becomes a kind of events. Its name has a suffix: a stream may have a
type that is called like the variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from cepkit.errors import UnsupportedError
from cepkit.pattern import nodes as n
from cepkit.pattern.conditions import all_of
from cepkit.pattern.durations import in_microseconds
from cepkit.pattern.kinds import lowered, resolved
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import AfterMatch, SkipTo, Strategy, TimeWindow
from cepkit.pattern.printer import to_text
from cepkit.pattern.query import Query
from cepkit.printing import Printed
from cepkit.rowpattern.binding import BoundQuery, bind
from cepkit.rowpattern.expressions import (
    Expression,
    RowValue,
    leaves,
    place_text,
)
from cepkit.rowpattern.nodes import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    RowQuery,
    Variable,
)
from cepkit.rowpattern.translated_rows import RowWriter, refused

_MOST_ROWS = 100


class Translatable:
    """The base of objects with a bound query, for its translation."""

    __slots__ = ()

    def _bound(self) -> BoundQuery:
        raise NotImplementedError

    def pattern_text(self) -> str:
        """Return the text of the cepkit pattern that finds the same matches.

        SELECT and MEASURES are not part of it: `ck.detect` returns a column for each attribute.

        Raises:
            UnsupportedError: There is none; the message names the obstacle and its place.
        """
        return to_text(_pattern(self._bound()))

    def as_pattern(self) -> Query:
        """Return that pattern, parsed.

        Raises:
            UnsupportedError: There is none; the message names the obstacle and its place.
        """
        return parse(self.pattern_text())


@dataclass(frozen=True, slots=True, repr=False)
class RowPatternQuery(Translatable, Printed):
    """A parsed query with MATCH_RECOGNIZE, without a table.

    Attributes:
        query: The parsed query.
    """

    query: RowQuery

    def _bound(self) -> BoundQuery:
        return bind(self.query)

    def __str__(self) -> str:
        return self.query.text


def _pattern(bound: BoundQuery) -> Query:
    query = bound.query
    rows, end = _rows_and_end(query.pattern)
    if not rows:
        raise refused("a pattern of no row", query.span)
    _check_order(bound)
    known, kinds = len(rows) - (end is not None), _kinds(bound, rows)
    names = _names(rows)
    skip = _skip(bound, rows, names, known)
    conditions = [
        RowWriter(bound, rows[: max(known, place + 1)], names, place).of(part)
        for place, variable in enumerate(rows)
        for part in (
            *(each for each in bound.filters[variable] if not _is_of_row(each)),
            *bound.conditions[variable],
        )
        if query.within is None or part.span != query.within.span
    ]
    events: list[n.Structure] = [
        n.Event(name, frozenset((kinds[variable].name,)) if variable in kinds else None)
        for variable, name in zip(rows, names, strict=True)
    ]
    if end is not None:
        first, *others = events
        *others, last = [*map(n.Next, others or [first])]
        events = [first, *others] if known else []
        if _repeats(end):
            _check_run(bound, rows[-1])
            run = n.Kleene(last, end.least, end.most, greedy=True)
            events.append(n.Next(run) if known else run)
        else:
            events.append(n.Opt(last, greedy=True))
    structure = resolved(events[0] if len(events) == 1 else n.Seq(tuple(events)), [*kinds.values()])
    window = None
    if query.within is not None:
        assert isinstance(query.within.value, timedelta)
        window = TimeWindow(in_microseconds(query.within.value), exclusive=True)
    strategy = Strategy.SKIP_TILL_ANY_MATCH
    if end is None:
        partition = Strategy.PARTITION_CONTIGUITY
        strategy = partition if bound.partition else Strategy.STRICT_CONTIGUITY
    return lowered(
        Query(
            structure,
            all_of(conditions),
            window,
            strategy,
            tuple(bound.partition),
            after_match=skip,
        )
    )


def _rows_and_end(pattern: RowPattern) -> tuple[list[str], Repetition | None]:
    """Return the variable of each row, and the last part if it may have more or fewer rows.

    A variable alone that repeats is one row; the last row of a last part may be left out.
    """
    *before, last = _flat(pattern)
    rows = [name for part in before for name in _rows(part)]
    match last:
        case Repetition(part, least, _, greedy=False):  # no later row asks for more
            return [*rows, *_rows(Repetition(part, least, least, True, last.span))], None
        case Repetition(Variable(name) as part, least, most) if most != least and (rows or least):
            least = 0 if _repeats(last) else least
            return [*rows, *_rows(Repetition(part, least, least, True, last.span)), name], last
        case _:
            return [*rows, *_rows(last)], None


def _repeats(end: Repetition) -> bool:
    """Return whether the number of rows of a last part varies by more than one."""
    return end.most != end.least + 1


def _check_run(bound: BoundQuery, variable: str) -> None:
    """Refuse a condition of rows that repeat which reads another of them."""
    for condition in (*bound.filters[variable], *bound.conditions[variable]):
        within = bound.query.within
        for leaf in () if within and condition.span == within.span else leaves(condition):
            if not (isinstance(leaf, RowValue) and _is_known(leaf, variable)):
                raise refused(f"a condition that reads other rows of {variable}", leaf.span)


def _is_known(leaf: RowValue, variable: str) -> bool:
    """Return whether a leaf reads the row itself, or rows of other variables before it."""
    if leaf.variables is None or variable in leaf.variables:
        return leaf.end == "last" and not leaf.skipped and not leaf.shift
    return leaf.shift <= 0


def _flat(pattern: RowPattern) -> Iterator[RowPattern]:
    if isinstance(pattern, Concatenation):
        for part in pattern.parts:
            yield from _flat(part)
    else:
        yield pattern


def _kinds(bound: BoundQuery, rows: list[str]) -> dict[str, n.Kind]:
    """Return the kinds of the variables with conditions on a row alone."""
    kinds: dict[str, n.Kind] = {}
    for variable in dict.fromkeys(rows):
        alone = [part for part in bound.filters[variable] if _is_of_row(part)]
        if alone:
            name = f"{variable.lower()}_row"
            while name in (kind.name for kind in kinds.values()):
                name += "_"
            row = RowWriter(bound, [variable], [""], 0)
            condition = all_of(map(row.of, alone))
            assert condition is not None
            kinds[variable] = n.Kind(name, None, condition)
    return kinds


def _is_of_row(condition: Expression) -> bool:
    """Return whether a filter reads its row, and no neighbour."""
    read = [*leaves(condition)]
    return bool(read) and all(isinstance(leaf, RowValue) and not leaf.shift for leaf in read)


def _rows(pattern: RowPattern) -> Iterator[str]:
    """Yield the variable of each row of a pattern of a fixed number of rows."""
    match pattern:
        case Variable(name):
            yield name
        case Concatenation(parts):
            for part in parts:
                yield from _rows(part)
        case Repetition(part, least, most) if least == most:
            if least > _MOST_ROWS:
                raise refused(f"a part {least:,} times", pattern.span)
            for _ in range(least):
                yield from _rows(part)
        case Repetition():
            raise UnsupportedError(
                f"{place_text(pattern.span)}, where SQL prefers one number of rows and tries others"
                " for the sake of the rest, has no equivalent in cepkit's patterns",
                expected="B? or B* at the end, or numbers of rows that are fixed, as in B{2}",
                hint="ck.from_match_recognize(sql, table) runs the query as it is",
                span=pattern.span,
            )
        case Alternation():
            raise refused("'|', where SQL prefers the left part,", pattern.span)
        case Permutation():
            raise refused("PERMUTE, whose orders SQL prefers one after the other,", pattern.span)
        case Exclusion():
            raise refused("{- -}", pattern.span)
        case Anchor():
            raise refused("an end of the partition", pattern.span)
        case _:
            assert_never(pattern)


def _skip(bound: BoundQuery, rows: list[str], names: list[str], known: int) -> AfterMatch | None:
    """Return the translation of AFTER MATCH SKIP; None if matches may overlap.

    Args:
        bound: The query.
        rows: The variable of each row.
        names: The name of each row.
        known: How many rows all matches have; with 0 the only one repeats.
    """
    skip, query = bound.query.skip, bound.query
    if query.output.unmatched:
        raise refused("WITH UNMATCHED ROWS", query.output.span)
    if (len(rows) == known == 1 and skip.variable is None) or skip.to == "next row":
        return None
    if skip.to == "past last row":
        return AfterMatch(SkipTo.PAST_LAST_EVENT)
    members = bound.members[skip.variable or ""]
    places = [place for place, variable in enumerate(rows) if variable in members]
    place = places[0 if skip.to == "first" else -1] if places else known
    if place >= known:
        raise refused("SKIP TO a row of a part that may have more rows, or none,", skip.span)
    if not place:
        raise refused("SKIP TO the first row of the match, an error in SQL,", skip.span)
    return AfterMatch(SkipTo.LAST, names[place])


def _check_order(bound: BoundQuery) -> None:
    if len(bound.order) != 1 or bound.order[0].descending or bound.order[0].column is None:
        raise refused(
            "an order of other than one ascending column",
            bound.order[0].span if bound.order else bound.query.span,
        )


def _names(rows: list[str]) -> list[str]:
    """Return a name for each row; numbered if a variable has several rows."""
    names: list[str] = []
    for place, variable in enumerate(rows):
        name = variable.lower()
        if rows.count(variable) > 1:
            name += f"_{rows[: place + 1].count(variable)}"
        while name in names or (rows.count(variable) > 1 and name.upper() in rows):
            name += "_"
        names.append(name)
    return names
