"""Conditions that name members of sets, runs and groups, against a small matcher of their own.

The matcher is written from docs/pattern-language.md alone. It shares nothing with the package or
with tests/judge.py: a drawn query is a text for the engine, and a few values for the matcher.
"""

from __future__ import annotations

import operator
from itertools import combinations, product
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.columnar.results.matches import Matches

pytestmark = pytest.mark.filterwarnings("ignore:no event has the type", "ignore:the stream has no")

COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
FUNCTIONS = {
    "sum": lambda values: sum(values) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "avg": lambda values: sum(values) / len(values) if values else None,
    "count": len,
}


class Event(NamedTuple):
    row: int
    t: int
    kind: str
    x: int | None

    @property
    def place(self) -> tuple[int, int]:
        return self.t, self.row


class Term(NamedTuple):
    """A value in a condition: of one event, or of the members of a set.

    `of`: "one", "each", "at" (a member by its number; negative from the end), "before" (so many
    members before each), "up to" and "earlier" (a function of the members up to each, or before
    each), "whole" (a function of all), "constant".
    """

    of: str
    variable: str = ""
    number: int = 0
    function: str = ""

    @property
    def text(self) -> str:
        b, n = self.variable, self.number
        match self.of:
            case "one" | "each":
                return f"{b}.x"
            case "at":
                return f"{b}[{n}].x" if n > 0 else f"{b}[last{n + 1 or ''}].x"
            case "before":
                return f"{b}[i-{n}].x"
            case "up to" | "earlier":
                return f"{self.function}({b}[..i{'-1' if self.of == 'earlier' else ''}].x)"
            case "whole":
                return f"{self.function}({b}.x)"
        return str(n)

    @property
    def each(self) -> bool:
        return self.of in ("each", "before", "up to", "earlier")

    @property
    def back(self) -> int:
        return {"before": self.number, "earlier": 1}.get(self.of, 0)

    @property
    def ahead(self) -> bool:
        return self.of == "whole" or (self.of == "at" and self.number < 0)

    def value(self, match: dict[str, list[Event]], i: int) -> Any:
        if self.of == "constant":
            return self.number
        values = [event.x for event in match[self.variable]]
        match self.of:
            case "one":
                return values[0]
            case "each":
                return values[i]
            case "before":
                return values[i - self.number]
            case "at":
                at = self.number - 1 if self.number > 0 else len(values) + self.number
                return values[at] if 0 <= at < len(values) else None
        if self.of != "whole":
            values = values[: i + (self.of == "up to")]
        if self.function in ("first", "last"):
            return values[0 if self.function == "first" else -1]
        return FUNCTIONS[self.function]([value for value in values if value is not None])


class Condition(NamedTuple):
    """`left sign right + more`, or `left IS NULL` beside it."""

    left: Term
    sign: str
    right: Term
    more: int
    or_missing: bool

    @property
    def text(self) -> str:
        text = f"{self.left.text} {self.sign} {self.right.text} + {self.more}"
        return f"({self.left.text} IS NULL OR {text})" if self.or_missing else text

    @property
    def terms(self) -> tuple[Term, Term]:
        return self.left, self.right

    @property
    def variables(self) -> set[str]:
        return {term.variable for term in self.terms if term.variable}

    def holds_at(self, match: dict[str, list[Event]], i: int) -> bool:
        left, right = self.left.value(match, i), self.right.value(match, i)
        if self.or_missing and left is None:
            return True
        if left is None or right is None:
            return False
        return bool(COMPARISONS[self.sign](left, right + self.more))

    def holds(self, match: dict[str, list[Event]]) -> bool:
        """Return whether it holds, for each member or repetition if it names them."""
        named = [term.variable for term in self.terms if term.each]
        if not named:
            return self.holds_at(match, 0)
        back = max(term.back for term in self.terms)
        return all(self.holds_at(match, i) for i in range(back, len(match[named[0]])))


def terms(draw: st.DrawFn, variable: str, *, each: bool) -> Term:
    """Draw a value of a set."""
    numbers, functions = st.sampled_from((1, 2, 3, -1, -2)), st.sampled_from([*FUNCTIONS])
    running = st.sampled_from([*FUNCTIONS, "first", "last"])
    kinds = ["at", "at", "whole"]
    kinds += ["each", "each", "before", "up to", "earlier"] if each else []
    match draw(st.sampled_from(kinds)):
        case "at":
            return Term("at", variable, draw(numbers))
        case "whole":
            return Term("whole", variable, 0, draw(functions))
        case "each":
            return Term("each", variable)
        case "before":
            return Term("before", variable, draw(st.sampled_from((1, 1, 2))))
        case of:
            return Term(of, variable, 0, draw(running))


@st.composite
def conditions(draw: st.DrawFn, sets: list[str], single: list[str]) -> Condition:
    """Draw a condition about a set, and another member, set of its group, or event."""
    variable = draw(st.sampled_from(sets))
    left = terms(draw, variable, each=True)
    match draw(st.integers(0, 3)):
        case 0:
            right = Term("constant", "", draw(st.integers(0, 4)))
        case 1 if single:
            right = Term("one", draw(st.sampled_from(single)))
        case _:
            right = terms(draw, draw(st.sampled_from(sets)), each=True)
    return Condition(
        left,
        draw(st.sampled_from(["<=", ">=", "<=", ">=", *COMPARISONS])),
        right,
        draw(st.sampled_from((0, 0, 1, -1, 2))),
        draw(st.integers(0, 4)) == 0,
    )


@st.composite
def streams(draw: st.DrawFn, kinds: str, most: int) -> list[Event]:
    """Draw events with few values; some have equal times, some no value."""
    events, t = [], 0
    for row in range(draw(st.integers(1, most))):
        t += draw(st.sampled_from((1, 1, 1, 2, 0)))
        x = draw(st.sampled_from((0, 1, 2, 3, 1, 2, None)))
        events.append(Event(row, t, draw(st.sampled_from(kinds if row else kinds[:2])), x))
    return events


def stream(events: list[Event]) -> ck.Stream:
    frame = pd.DataFrame(events, columns=["row", "t", "kind", "x"])
    frame["x"] = frame["x"].astype("Int64")
    return ck.events(frame, time="t", type="kind", unit="s")


def found(matches: Matches, names: str) -> list[tuple[tuple[int, ...], ...]]:
    columns = matches.to_arrow()
    lists = [columns[name].to_pylist() for name in names]
    rows = (
        tuple(
            tuple(e["row"] for e in (each if isinstance(each, list) else [each])) for each in match
        )
        for match in zip(*lists, strict=True)
    )
    return sorted(rows)


def rows_of(match: dict[str, list[Event]], names: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(event.row for event in match[name]) for name in names)


# --- sets and runs -----------------------------------------------------------------------------


class SetQuery(NamedTuple):
    begins: bool
    ends: bool
    word: str
    run: str
    least: int
    most: int | None
    greedy: bool
    window: int | None
    where: tuple[Condition, ...]

    @property
    def text(self) -> str:
        bounds = f"{{{self.least},{self.most or ''}}}"
        one = f"{self.word}KL({self.run}B b){bounds}{' GREEDY' if self.greedy else ''}"
        items = [*(["A a"] if self.begins else []), one, *(["C c"] if self.ends else [])]
        text = f"PATTERN SEQ({', '.join(items)})" if len(items) > 1 else f"PATTERN {one}"
        text += f" WHERE {' AND '.join(c.text for c in self.where)}" if self.where else ""
        return text + ("" if self.window is None else f" WITHIN {self.window} seconds")

    @property
    def names(self) -> str:
        return "a" * self.begins + "b" + "c" * self.ends


@st.composite
def set_queries(draw: st.DrawFn) -> SetQuery:
    begins, ends = draw(st.booleans()), draw(st.booleans())
    least = draw(st.sampled_from((1, 1, 1, 2)))
    single = [name for name, there in (("a", begins), ("c", ends)) if there]
    about = conditions(["b"], single)
    return SetQuery(
        begins,
        ends,
        draw(st.sampled_from(("", "", "FIRST ", "NEXT "))) if begins else "",
        draw(st.sampled_from(("", "FIRST ", "NEXT ", "NEXT "))),
        least,
        draw(st.sampled_from((None, None, None, least + 1))),
        draw(st.booleans()),
        draw(st.sampled_from((None, None, 3, 5))),
        tuple(draw(st.lists(about, min_size=1, max_size=2))),
    )


def set_matches(events: list[Event], query: SetQuery) -> list[tuple[tuple[int, ...], ...]]:
    everything = [e for e in events if e.kind == "B"]
    everything.sort(key=lambda event: event.place)
    before = [e for e in events if e.kind == "A"] if query.begins else [None]
    after = [e for e in events if e.kind == "C"] if query.ends else [None]
    matches = []
    for a, c in product(before, after):
        for size in range(query.least, min(len(everything), query.most or 99) + 1):
            for members in combinations(everything, size):
                match = {"b": [*members]}
                match |= {"a": [a]} if a else {}
                match |= {"c": [c]} if c else {}
                if set_is_match(events, query, match):
                    matches.append(rows_of(match, query.names))
    return sorted(matches)


def set_is_match(events: list[Event], query: SetQuery, match: dict[str, list[Event]]) -> bool:
    members = match["b"]
    earlier, later = match.get("a", []), match.get("c", [])
    own = [*earlier, *members, *later]

    def in_window(more: list[Event]) -> bool:
        times = [event.t for event in (*own, *more)]
        return query.window is None or max(times) - min(times) <= query.window

    if not all(a.t < b.t for a in earlier for b in (*members, *later)):
        return False
    if not all(b.t < c.t for b in members for c in later):
        return False
    if not in_window([]) or not all(condition.holds(match) for condition in query.where):
        return False
    plain = [
        condition
        for condition in query.where
        if all(term.of in ("each", "one", "constant") for term in condition.terms)
        and condition.variables <= {"a", "b"}
    ]

    def fits(event: Event) -> bool:
        alone = {**match, "b": [event]}
        return (
            event.kind == "B"
            and event not in members
            and all(a.t < event.t for a in earlier)
            and in_window([event])
            and all(condition.holds(alone) for condition in plain)
        )

    first, last = members[0], members[-1]
    run = query.run or ("FIRST " if query.greedy else "")
    if query.word == "NEXT " and first.row != earlier[0].row + 1:
        return False
    if query.word == "FIRST " and any(e.t < first.t and fits(e) for e in events):
        return False
    if run == "NEXT " and sorted(e.row for e in members) != [
        *range(min(e.row for e in members), max(e.row for e in members) + 1)
    ]:
        return False
    if run == "FIRST " and any(first.place < e.place < last.place and fits(e) for e in events):
        return False
    if not query.greedy:
        return True
    full = len(members) == query.most

    def could_be_behind(event: Event) -> bool:
        return event.place > last.place and all(event.t < c.t for c in later) and fits(event)

    if run == "NEXT ":
        so_far = [
            condition
            for condition in query.where
            if condition.variables <= {"a", "b"}
            and not any(term.ahead and term.variable == "b" for term in condition.terms)
        ]
        return full or not any(
            event.row == last.row + 1
            and could_be_behind(event)
            and all(c.holds({**match, "b": [*members, event]}) for c in so_far)
            for event in events
        )
    if not full and any(map(could_be_behind, events)):
        return False
    return bool(query.run) or not any(event.place < first.place and fits(event) for event in events)


def refused(query: str) -> bool:
    try:
        ck.parse(query)
    except ck.CepkitError:
        return True
    return False


@given(query=set_queries(), events=streams("ABBBBBCX", 9))
def test_sets_and_runs_are_those_of_the_document(query: SetQuery, events: list[Event]) -> None:
    assume(not refused(query.text))
    matches = ck.detect(stream(events), query.text)
    expected = set_matches(events, query)
    assert found(matches, query.names) == expected
    assert matches.count() == len(expected)


@given(mechanism=st.sampled_from([*MECHANISMS]), query=set_queries(), events=streams("ABBBC", 7))
def test_mechanisms_find_the_sets_of_the_document(
    mechanism: str, query: SetQuery, events: list[Event]
) -> None:
    query = query._replace(window=query.window or 5)
    assume(not refused(query.text))
    trace = ck.simulate(stream(events), query.text, mechanism)
    assert len(trace.matches) == len(set_matches(events, query))


# --- groups ------------------------------------------------------------------------------------


class GroupQuery(NamedTuple):
    words: tuple[str, str]
    least: int
    most: int
    ends: bool
    window: int | None
    where: tuple[Condition, ...]

    @property
    def text(self) -> str:
        group = f"KL(SEQ({self.words[0]}A a, {self.words[1]}B b)){{{self.least},{self.most}}}"
        text = f"PATTERN SEQ(D d, {group}{', C c' if self.ends else ''})"
        text += f" WHERE {' AND '.join(c.text for c in self.where)}" if self.where else ""
        return text + ("" if self.window is None else f" WITHIN {self.window} seconds")

    @property
    def names(self) -> str:
        return "dab" + "c" * self.ends


@st.composite
def group_queries(draw: st.DrawFn) -> GroupQuery:
    ends = draw(st.booleans())
    least = draw(st.sampled_from((1, 1, 2)))
    words = st.sampled_from(("", "", "FIRST ", "NEXT "))
    about = conditions(["a", "b"], ["d", "c"] if ends else ["d"])
    return GroupQuery(
        (draw(words), draw(words)),
        least,
        draw(st.integers(least, 3)),
        ends,
        draw(st.sampled_from((None, None, 6))),
        tuple(draw(st.lists(about, min_size=1, max_size=2))),
    )


def group_matches(events: list[Event], query: GroupQuery) -> list[tuple[tuple[int, ...], ...]]:
    of = {kind: [e for e in events if e.kind == kind] for kind in "ABCD"}
    matches = []
    for times in range(query.least, query.most + 1):
        kinds = ["D", *("A", "B") * times, *("C" if query.ends else "")]

        def longer(chosen: list[Event], kinds: list[str] = kinds, times: int = times) -> None:
            if len(chosen) == len(kinds):
                if group_is_match(events, query, chosen, times):
                    matches.append(rows_of(group_of(chosen, times), query.names))
                return
            for event in of[kinds[len(chosen)]]:
                if not chosen or chosen[-1].t < event.t:
                    longer([*chosen, event])

        longer([])
    return sorted(matches)


def group_of(chosen: list[Event], times: int) -> dict[str, list[Event]]:
    a, b = chosen[1 : 2 * times : 2], chosen[2 : 2 * times + 1 : 2]
    return {"d": chosen[:1], "a": a, "b": b, "c": chosen[2 * times + 1 :]}


def group_is_match(events: list[Event], query: GroupQuery, chosen: list[Event], times: int) -> bool:
    match = group_of(chosen, times)

    def in_window(more: list[Event]) -> bool:
        span = [event.t for event in (*chosen, *more)]
        return query.window is None or max(span) - min(span) <= query.window

    if not in_window([]) or not all(condition.holds(match) for condition in query.where):
        return False
    for place in range(1, 2 * times + 1):
        word, event = query.words[1 - place % 2], chosen[place]
        if word == "NEXT " and event.row != chosen[place - 1].row + 1:
            return False
        if word == "FIRST " and any(
            other.kind == event.kind
            and other not in chosen
            and chosen[place - 1].t < other.t < event.t
            and in_window([other])
            and decides(query, match, place, other, times)
            for other in events
        ):
            return False
    return True


def decides(
    query: GroupQuery, match: dict[str, list[Event]], place: int, event: Event, times: int
) -> bool:
    """Return whether the conditions on an event and those before it hold of another event."""
    variable, number = "ab"[1 - place % 2], (place - 1) // 2
    instead = [*match[variable][:number], event, *match[variable][number + 1 :]]
    other = {**match, variable: instead}

    def read(term: Term, i: int) -> set[tuple[str, int]]:
        """Return the events that a term reads, by variable and repetition."""
        match term.of:
            case "constant":
                return set()
            case "one":
                return {(term.variable, 0)}
            case "each":
                return {(term.variable, i)}
            case "before":
                return {(term.variable, i - term.number)}
            case "at":
                at = term.number - 1 if term.number > 0 else times + term.number
                return {(term.variable, at)} if 0 <= at < times else set()
            case "whole":
                return {("whole", 0)}
        return {(term.variable, k) for k in range(i + (term.of == "up to"))}

    known = {
        ("d", 0),
        *((v, k) for v in "ab" for k in range(times) if 2 * k + 1 + (v == "b") <= place),
    }
    for condition in query.where:
        back = max(term.back for term in condition.terms)
        each = any(term.each for term in condition.terms)
        for i in range(back, times) if each else (0,):
            about = read(condition.left, i) | read(condition.right, i)
            if (variable, number) in about <= known and not condition.holds_at(other, i):
                return False
    return True


@given(query=group_queries(), events=streams("AABBBC", 9))
def test_groups_are_those_of_the_document(query: GroupQuery, events: list[Event]) -> None:
    assume(not refused(query.text))
    events = [Event(0, 0, "D", 1), *(e._replace(row=e.row + 1, t=e.t + 1) for e in events)]
    matches = ck.detect(stream(events), query.text)
    expected = group_matches(events, query)
    assert found(matches, query.names) == expected
    assert matches.count() == len(expected)
