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
from datetime import datetime, timedelta
from typing import Any, assert_never

from cepkit.errors import Span, UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes as n
from cepkit.pattern.given_times import time_of
from cepkit.pattern.kinds import lowered, resolved
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import AfterMatch, SkipTo, Strategy, TimeWindow, in_microseconds
from cepkit.pattern.printer import to_text
from cepkit.pattern.query import Query
from cepkit.pattern.trees import mapped
from cepkit.printing import Printed
from cepkit.rowpattern import expressions as e
from cepkit.rowpattern import nodes as r
from cepkit.rowpattern.binding import BoundQuery, bind

_MOST_ROWS = 100
_FUNCTIONS = (
    *("abs", "sqrt", "exp", "ln", "floor", "ceil", "least", "greatest"),
    *("lower", "upper", "trim", "length", "concat"),
)
"""The functions that mean the same in patterns; `ln` is called log there."""


class Translatable:
    """The base of objects with a bound query, for its translation."""

    __slots__ = ()

    def _bound(self) -> BoundQuery:
        raise NotImplementedError

    def pattern_text(self) -> str:
        """Return the text of the cepkit pattern that finds the same matches.

        SELECT and MEASURES are not part of it: `ck.detect` returns a column for each attribute.

        Raises:
            UnsupportedError: No pattern is equivalent; the message names the obstacle.
        """
        return to_text(_pattern(self._bound()))

    def as_pattern(self) -> Query:
        """Return that pattern, parsed.

        Raises:
            UnsupportedError: No pattern is equivalent; the message names the obstacle.
        """
        return parse(self.pattern_text())


@dataclass(frozen=True, slots=True, repr=False)
class RowPatternQuery(Translatable, Printed):
    """A parsed query with MATCH_RECOGNIZE, without a table.

    Attributes:
        query: The parsed query.
    """

    query: r.RowQuery

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
        RowWriter(rows[: max(known, place + 1)], names, place).of(part)
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
            c.all_of(conditions),
            window,
            strategy,
            tuple(bound.partition),
            after_match=skip,
        )
    )


def _rows_and_end(pattern: r.RowPattern) -> tuple[list[str], r.Repetition | None]:
    """Return the variable of each row, and the last part if it may have more or fewer rows.

    A variable alone that repeats is one row; the last row of a last part may be left out.
    """
    *before, last = _flat(pattern)
    rows = [name for part in before for name in _rows(part)]
    match last:
        case r.Repetition(part, least, _, greedy=False):  # no later row asks for more
            return [*rows, *_rows(r.Repetition(part, least, least, True, last.span))], None
        case r.Repetition(r.Variable(name) as part, least, most) if most != least and (
            rows or least
        ):
            least = 0 if _repeats(last) else least
            return [*rows, *_rows(r.Repetition(part, least, least, True, last.span)), name], last
        case _:
            return [*rows, *_rows(last)], None


def _repeats(end: r.Repetition) -> bool:
    """Return whether the number of rows of a last part varies by more than one."""
    return end.most != end.least + 1


def _check_run(bound: BoundQuery, variable: str) -> None:
    """Refuse a condition of rows that repeat which reads another of them."""
    for condition in (*bound.filters[variable], *bound.conditions[variable]):
        within = bound.query.within
        for leaf in () if within and condition.span == within.span else e.leaves(condition):
            if not (isinstance(leaf, e.RowValue) and _is_known(leaf, variable)):
                raise refused(f"a condition that reads other rows of {variable}", leaf.span)


def _is_known(leaf: e.RowValue, variable: str) -> bool:
    """Return whether a leaf reads the row itself, or rows of other variables before it."""
    if leaf.variables is None or variable in leaf.variables:
        return leaf.end == "last" and not leaf.skipped and not leaf.shift
    return leaf.shift <= 0


def _flat(pattern: r.RowPattern) -> Iterator[r.RowPattern]:
    if isinstance(pattern, r.Concatenation):
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
            row = RowWriter([variable], [""], 0)
            condition = c.all_of(map(row.of, alone))
            assert condition is not None
            kinds[variable] = n.Kind(name, None, condition)
    return kinds


def _is_of_row(condition: e.Expression) -> bool:
    """Return whether a filter reads its row, and no neighbour."""
    read = [*e.leaves(condition)]
    return bool(read) and all(isinstance(leaf, e.RowValue) and not leaf.shift for leaf in read)


def _rows(pattern: r.RowPattern) -> Iterator[str]:
    """Yield the variable of each row of a pattern of a fixed number of rows."""
    match pattern:
        case r.Variable(name):
            yield name
        case r.Concatenation(parts):
            for part in parts:
                yield from _rows(part)
        case r.Repetition(part, least, most) if least == most:
            if least > _MOST_ROWS:
                raise refused(f"a part {least:,} times", pattern.span)
            for _ in range(least):
                yield from _rows(part)
        case r.Repetition():
            raise UnsupportedError(
                f"{e.place_text(pattern.span)}, where SQL prefers one number of rows and tries"
                " others for the sake of the rest, has no equivalent in cepkit's patterns",
                expected="B? or B* at the end, or numbers of rows that are fixed, as in B{2}",
                hint="ck.from_match_recognize(sql, table) runs the query as it is",
                span=pattern.span,
            )
        case r.Alternation():
            raise refused("'|', where SQL prefers the left part,", pattern.span)
        case r.Permutation():
            raise refused("PERMUTE, whose orders SQL prefers one after the other,", pattern.span)
        case r.Exclusion():
            raise refused("{- -}", pattern.span)
        case r.Anchor():
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


def refused(what: str, span: Span | None) -> UnsupportedError:
    """Return the error of a part that no pattern says."""
    return UnsupportedError(
        f"{what} has no equivalent in cepkit's patterns",
        hint="ck.from_match_recognize(sql, table) runs the query as it is",
        span=span,
    )


class RowWriter:
    """Translates the conditions of one row of a match with a fixed number of rows."""

    def __init__(self, rows: list[str], names: list[str], place: int) -> None:
        self._rows = rows
        self._names = names
        self._place = place

    def of(self, expression: e.Expression) -> c.Expression:
        """Return a bound expression in the pattern language."""
        match expression:
            case e.Constant(value, span):
                return _constant(value, span)
            case e.Call("and" | "or" as name):
                kind = c.AllOf if name == "and" else c.AnyOf
                sides = map(self.of, expression.arguments)
                flat = (part for s in sides for part in (s.items if isinstance(s, kind) else (s,)))
                return kind(tuple(flat))
            case e.Call("=" | "<>" | "<" | "<=" | ">" | ">=" as sign, (left, right)):
                compared: Any = {"<>": "!="}.get(sign, sign)
                return c.Comparison(compared, self.of(left), self.of(right))
            case e.Call("+" | "-" | "*" | "/" | "mod" as sign, (left, right)):
                computed: Any = {"mod": "%"}.get(sign, sign)
                return c.Arithmetic(computed, self.of(left), self.of(right))
            case e.Call("not", (value,)):
                return c.Complement(self.of(value))
            case e.Call("negate", (value,)):
                return c.Negative(self.of(value))
            case e.Call("is null", (value,)):
                return c.IsNull(self.of(value))
            case e.Call(name, arguments) if name in _FUNCTIONS:
                same = "log" if name == "ln" else name
                return c.Call(same, tuple(map(self.of, arguments)))
            case e.Call(name):
                raise refused(f"the function {name.upper()}", expression.span)
            case e.Cast(_, kind, span):
                raise refused(f"CAST to {kind}", span)
            case e.RowValue():
                return self._read(expression)
            case e.Fold(function, span=span):
                raise refused(f"{function.upper()} in DEFINE", span)
            case e.MatchNumber(span):
                raise refused("MATCH_NUMBER in DEFINE", span)
            case e.Here() | e.Label() | e.Column() | e.AllRows():
                raise AssertionError(expression)
            case _:
                assert_never(expression)

    def _read(self, leaf: e.RowValue) -> c.Expression:
        variables = leaf.variables
        candidates = [
            place
            for place, name in enumerate(self._rows[: self._place + 1])
            if variables is None or name in variables
        ]
        if leaf.skipped >= len(candidates):
            raise refused("a row that is not mapped yet, a null in SQL,", leaf.span)
        row = candidates[-1 - leaf.skipped if leaf.end == "last" else leaf.skipped] + leaf.shift
        if isinstance(leaf.value, e.Label):
            if row > self._place or row < 0:
                raise refused("CLASSIFIER of a row that is not mapped", leaf.span)
            return c.Literal(self._rows[row])
        if not 0 <= row < len(self._rows):
            raise refused("PREV or NEXT that leaves the match", leaf.span)
        return self._there(leaf.value, row)

    def _there(self, value: e.Expression, row: int) -> c.Expression:
        if isinstance(value, e.Here):
            return c.Attribute(self._names[row], value.name)
        return RowWriter(self._rows, self._names, row).of(_bound_here(value))


def _bound_here(value: e.Expression) -> e.Expression:
    """Return an expression with the columns of a row as values of the row itself."""
    match value:
        case e.Here(span=span):
            return e.RowValue(None, "last", 0, 0, value, span=span)
        case _:
            return mapped(value, _bound_here)


def _constant(value: object, span: Span | None) -> c.Literal:
    match value:
        case datetime():
            return c.Literal(time_of(value), zone=None if value.tzinfo is None else "UTC")
        case None | bool() | int() | float() | str() | timedelta():
            return c.Literal(value)
        case _:
            raise refused("this constant", span)
