"""Queries and streams for hypothesis, drawn together so that matches are frequent.

`cases()` is the entrance: a query, a stream for it, and the judge's matches. Its switches limit the
constructs to those of the engine under test; without them it draws every construct of the language.
Every query passes `checks.check`. The simplest comes first, so that failures shrink to it: one
event, no conditions, no window, events a second apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, combinations, islice, permutations, repeat
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from hypothesis import HealthCheck, reject, settings
from hypothesis import strategies as st

from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.checks import check
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow, StepBound, Strategy, TimeWindow, Window
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import in_first
from cepkit.pattern.unrolling import unrolled
from cepkit.stream.schema import TIES, Ties
from tests.judge import BudgetError, Event, Match, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pandas as pd
    import pyarrow as pa

    from cepkit.pattern.normal_form import Branch
    from cepkit.pattern.repetitions import Group

FEW = settings(
    max_examples=settings().max_examples // 3,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
"""The settings of tests on Spark, where an example takes about a second."""

UNIT = 1_000_000
"""A time step: one second. Windows are whole units, so that their edges are hit."""

Operator: TypeAlias = Literal[
    "SEQ", "AND", "OR", "NOT", "KL", "FIRST", "NEXT", "OPT", "RUN", "UNTIL", "GREEDY", "TOGETHER",
    "GROUP",
]  # fmt: skip
OPERATORS: tuple[Operator, ...] = tuple(
    name
    for name in get_args(Operator)
    if name not in ("RUN", "UNTIL", "GREEDY", "TOGETHER", "GROUP")
)
"""All operators but KL(FIRST B b), UNTIL, GREEDY, NOT(SEQ(...)) and groups that repeat."""

WindowKind: TypeAlias = Literal["none", "time", "time-exclusive", "count", "count-exclusive"]
WINDOWS: tuple[WindowKind, ...] = get_args(WindowKind)

ConditionKind: TypeAlias = Literal[
    "filter",
    "comparison",
    "equality",
    "difference",
    "three-variables",
    "or",
    "not",
    "in",
    "between",
    "is-null",
    "arithmetic",
    "function",
    "truth",
    "constant",
    "corr",
    "duration",
    "set",
    "bound",
    "neighbours",
]
CONDITIONS: tuple[ConditionKind, ...] = tuple(
    k for k in get_args(ConditionKind) if k != "neighbours"
)
"""All kinds but those with prev(b.x), which tests name."""

_NAN = float("nan")
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the columns have no zone
DOMAINS: dict[str, tuple[Any, ...]] = {
    "x": (0, 1, 2, 3),
    "y": (0.0, 0.5, 1.0, 2.0, 3.0, _NAN, None),
    "z": (0, 1, 2, None),
    "s": ("a", "b", "ab", "é", None),
    "k": (0, 1),
    "f": (True, False, None),
    "h": ((1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (2.0, 2.0, 2.0), (1.0, 2.0, _NAN), None),
    "t": (*(EPOCH + timedelta(seconds=s) for s in (0, 1, 2, 5)), None),
    "d": (*(timedelta(seconds=s) for s in (0, 1, 0.5, 2)), None),
}
"""The attributes of events and their values: `h` is an array, `k` a key, `t` a time beside that of
the event, which is the attribute `ts`, `d` a duration."""

TYPES = ("A", "B", "C", "D", "E")
NOISE = "X"
"""A type that no pattern names; only an event of any type takes it."""
NEVER = "Z"
"""A type that never occurs, although patterns name it."""


# --- streams -----------------------------------------------------------------------------------


STEPS = (1, 0, 0, 2, 3, 1)


@st.composite
def streams(
    draw: st.DrawFn,
    max_events: int = 40,
    *,
    script: tuple[str, ...] = TYPES[:3],
    types: tuple[str, ...] = (*TYPES, NOISE),
    attributes: Iterable[str] = DOMAINS,
    script_weight: int = 1,
    unsorted: bool = False,
    steps: tuple[int, ...] = STEPS,
) -> list[Event]:
    """Draw events in order of arrival, numbered from 0, in steps of 0 to 3 units.

    Args:
        draw: The draw function of hypothesis.
        max_events: The greatest number of events.
        script: Types that often follow each other in this order, again and again.
        types: The types between them.
        attributes: The attributes that vary; all events have the same value of the others.
        script_weight: The number of events of the script for each other event.
        unsorted: Whether arrival may differ from the order of time.
        steps: The steps between two events, in units.
    """
    varying = [st.sampled_from(DOMAINS[name]) for name in attributes]
    # None: the next of the script.
    a_type = st.sampled_from((*[None] * (len(types) * script_weight), *types))
    one = st.tuples(st.sampled_from(steps), a_type, *varying)
    sizes = tuple(n for n in (0, 24, 16, 30, 8, 24) if n <= max_events)
    rows = draw(st.lists(one, min_size=draw(st.sampled_from(sizes)), max_size=max_events))
    fixed = {name: domain[1] for name, domain in DOMAINS.items()}
    events, ts, place = [], 0, 0
    for arrival, (step, given_type, *values) in enumerate(rows):
        ts += step * UNIT
        event_type = given_type
        if event_type is None:
            event_type, place = script[place % len(script)], place + 1
        changed = dict(zip(attributes, values, strict=True))
        changed["ts"] = EPOCH + timedelta(microseconds=ts)
        events.append(Event(ts, event_type, {**fixed, **changed}, arrival))
    if unsorted and draw(st.integers(0, 7)) == 7:
        shuffled = draw(st.permutations(events))
        return [Event(e.ts, e.type, e.attributes, arrival) for arrival, e in enumerate(shuffled)]
    return events


# --- structures --------------------------------------------------------------------------------


@st.composite
def structures(
    draw: st.DrawFn,
    operators: Iterable[Operator] = OPERATORS,
    max_variables: int = 5,
    *,
    type_sets: bool = True,
) -> nodes.Structure:
    """Draw a structure in which every choice at the ORs leaves a positive event."""
    allowed = frozenset(operators)
    size = draw(st.integers(1 + ("GROUP" in allowed), max_variables))
    if not allowed & {"SEQ", "AND", "OR"}:
        size = 1
    structure = draw(_structure(0, size, allowed, positive=True, type_sets=type_sets))
    structure = draw(_with_firsts(structure, False, allowed))
    if "TOGETHER" in allowed:
        structure = draw(_with_together(structure, size))
    if "GROUP" in allowed:
        structure = draw(_with_group(structure))
    words = [word for word in ("UNTIL", "GREEDY") if word in allowed]
    choices = [[word] for word in words] + [words] * (len(words) > 1)
    return draw(_with_ends(structure, size, draw(st.sampled_from(choices)))) if words else structure


@st.composite
def _with_group(draw: st.DrawFn, node: nodes.Structure) -> nodes.Structure:
    """Draw a structure with a group of neighbouring single events that repeats."""

    def may_repeat(item: nodes.Structure) -> bool:
        inner = item.item if isinstance(item, nodes.First | nodes.Next | nodes.Not) else item
        inner = inner.item if isinstance(inner, nodes.Next) else inner
        return isinstance(inner, nodes.Event)

    match node:
        case nodes.Seq(items) | nodes.And(items) | nodes.Or(items):
            places = [
                (begin, end)
                for begin, end in combinations(range(len(items) + 1), 2)
                if all(map(may_repeat, items[begin:end])) and any(map(_binds, items[begin:end]))
            ]
            places = [(i, j) for i, j in places if j - i > 1] or places
            if places and not isinstance(node, nodes.Or):
                begin, end = draw(st.sampled_from(places))
                sizes = draw(st.sampled_from(((1, 2), (2, 2), (1, 3), (2, 3), (1, 1))))
                group = nodes.Kleene(replace(node, items=items[begin:end]), *sizes)
                return replace(node, items=(*items[:begin], group, *items[end:]))
            below = [i for i, item in enumerate(items) if isinstance(item, _NESTING)]
            if below:
                at = draw(st.sampled_from(below))
                inner = draw(_with_group(items[at]))
                return replace(node, items=(*items[:at], inner, *items[at + 1 :]))
    return node


_NESTING = nodes.Seq | nodes.And | nodes.Or


@st.composite
def _with_ends(
    draw: st.DrawFn, node: nodes.Structure, number: int, words: list[str]
) -> nodes.Structure:
    """Draw a structure with GREEDY, UNTIL and an event, or both behind its first set."""
    done = False

    def ended(node: nodes.Structure) -> nodes.Structure:
        nonlocal done
        match node:
            case nodes.Kleene(item) if not done:
                done = True
                if "GREEDY" in words:
                    node = replace(node, greedy=True)
                if "UNTIL" not in words:
                    return node
                (event,) = nodes.events_of(item)
                types = draw(st.sampled_from([frozenset({"E"}), event.types, frozenset("ABC")]))
                return replace(node, until=nodes.Event("abcdefgh"[number], types))
            case nodes.Opt() if "UNTIL" in words:
                return node
            case nodes.First(item) | nodes.Next(item) | nodes.Opt(item):
                return replace(node, item=ended(item))
            case nodes.Seq(items) | nodes.And(items) | nodes.Or(items):
                return replace(node, items=tuple(map(ended, items)))
        return node

    return ended(node)


@st.composite
def _with_together(draw: st.DrawFn, node: nodes.Structure, number: int) -> nodes.Structure:
    """Draw a structure with more events under each NOT, up to four together; or with a new NOT."""
    names = iter("abcdefgh"[number:])

    def joined(event: nodes.Event) -> nodes.Structure:
        more = []
        for name in islice(names, draw(st.sampled_from((1, 1, 2, 0, 3)))):
            others = [frozenset("C"), frozenset("A"), frozenset("D"), event.types, frozenset("BC")]
            more.append(nodes.Event(name, draw(st.sampled_from(others))))
        kinds = (nodes.Seq, nodes.And)
        kind, other = draw(st.permutations(kinds))
        items = draw(st.permutations((event, *more)))
        if len(items) > 2 and draw(st.booleans()):
            items = (other(tuple(items[:2])), *items[2:])
        return kind(tuple(items)) if more else event

    def changed(node: nodes.Structure) -> nodes.Structure:
        match node:
            case nodes.Not(nodes.Event() as event):
                return nodes.Not(joined(event))
            case nodes.Opt(item):
                return replace(node, item=changed(item))
            case nodes.Seq(items) | nodes.And(items) | nodes.Or(items):
                return replace(node, items=tuple(map(changed, items)))
        return node

    if any(isinstance(each, nodes.Not) for each in nodes.walk(node)):
        return changed(node)
    absent = nodes.Not(joined(nodes.Event(next(names), frozenset("B"))))
    if draw(st.integers(0, 3)) == 3:
        return nodes.And((node, absent))
    items = list(node.items) if isinstance(node, nodes.Seq) else [node]
    items.insert(draw(st.integers(0, len(items))), absent)
    return nodes.Seq(tuple(items))


@st.composite
def _with_firsts(
    draw: st.DrawFn, node: nodes.Structure, follows: bool, allowed: frozenset[str]
) -> nodes.Structure:
    """Draw a structure with FIRST or NEXT before some events that always follow another."""
    words = [word for word in ("FIRST", "NEXT") if word in allowed]
    match node:
        case nodes.Event() if follows and words and draw(st.integers(0, 3)) == 3:
            first = draw(st.sampled_from(words)) == "FIRST"
            return nodes.First(node) if first else nodes.Next(node)
        case nodes.Kleene(nodes.Event() as event) if words and draw(st.booleans()):
            inner = [event, *([nodes.First(event)] if "RUN" in allowed else [])]
            inner += [nodes.Next(event)] if "NEXT" in words else []
            run = replace(node, item=draw(st.sampled_from(inner)))
            before = [nodes.First(run)] if "FIRST" in words else []
            before += [nodes.Next(run)] if "NEXT" in words else []
            return draw(st.sampled_from([run, *(before if follows else [])]))
        case nodes.Opt(item, greedy=True):
            return replace(node, item=draw(_with_firsts(item, follows, allowed)))
        case nodes.Not(nodes.Event() as event) if follows and "NEXT" in words:
            return nodes.Not(nodes.Next(event)) if draw(st.booleans()) else node
        case nodes.Seq(items) | nodes.And(items) | nodes.Or(items):
            parts = []
            for item in items:
                parts.append(draw(_with_firsts(item, follows, allowed)))
                follows = follows or (isinstance(node, nodes.Seq) and _binds(item))
            return replace(node, items=tuple(parts))
    return node


def _binds(node: nodes.Structure) -> bool:
    match node:
        case nodes.Seq(items) | nodes.And(items):
            return any(map(_binds, items))
        case nodes.Or(items):
            return all(map(_binds, items))
    return not isinstance(node, nodes.Not | nodes.Opt)


@st.composite
def _structure(
    draw: st.DrawFn,
    first: int,
    size: int,
    allowed: frozenset[str],
    *,
    positive: bool,
    type_sets: bool,
) -> nodes.Structure:
    """Draw a structure of variables `first` to `first + size - 1`, never absent if `positive`."""
    if size == 1:
        return draw(_leaf(first, allowed, positive=positive, type_sets=type_sets))
    names = [name for name in ("SEQ", "AND", "SEQ", "OR") if name in allowed]
    name = draw(st.sampled_from(names))
    sizes = draw(_parts(size))
    # One item of SEQ and AND is enough to be positive; of OR all must be.
    anchor = draw(st.integers(0, len(sizes) - 1)) if positive and name != "OR" else None
    items = []
    for place, part in enumerate(sizes):
        must = positive and (anchor is None or place == anchor)
        items.append(draw(_structure(first, part, allowed, positive=must, type_sets=type_sets)))
        first += part
    kinds = {"SEQ": nodes.Seq, "AND": nodes.And, "OR": nodes.Or}
    return kinds[name](tuple(items))


@st.composite
def _parts(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """Draw two or more numbers with the sum `size`; most often all of them 1."""
    if size == 2 or draw(st.integers(0, 2)) < 2:
        return (1,) * size
    left = draw(st.integers(1, size - 1))
    if size - left > 1 and draw(st.booleans()):
        return (left, *draw(_parts(size - left)))
    return (left, size - left)


@st.composite
def _leaf(
    draw: st.DrawFn, number: int, allowed: frozenset[str], *, positive: bool, type_sets: bool
) -> nodes.Structure:
    own = TYPES[number % len(TYPES)]
    other = TYPES[(number + 1) % len(TYPES)]
    choices: list[frozenset[str] | None] = [frozenset({own})] * 12
    choices += [frozenset({other})] * 2
    choices += [frozenset({own, other}), frozenset({own, NEVER}), None] if type_sets else []
    types = draw(st.sampled_from([*choices, frozenset({own})]))
    # Seldom, because such patterns hardly match.
    if types == frozenset({own}) and draw(st.integers(0, 49)) == 49:
        types = frozenset({NEVER})
    event = nodes.Event("abcdefgh"[number], types)
    wrappers = ["one", "one", "one"]
    many = 3 if "TOGETHER" in allowed else 1
    wrappers += ["NOT"] * many if "NOT" in allowed and not positive else []
    wrappers += ["OPT"] if "OPT" in allowed and not positive else []
    wrappers += ["KL"] * (6 if {"UNTIL", "GREEDY"} & allowed else 1) if "KL" in allowed else []
    wrapper = draw(st.sampled_from(wrappers)) if len(wrappers) > 3 else "one"
    if wrapper == "NOT":
        return nodes.Not(event)
    if wrapper == "OPT":
        greedy = draw(st.booleans())
        if greedy and "KL" in allowed and draw(st.booleans()):
            return nodes.Opt(nodes.Kleene(event, 1, draw(st.sampled_from((None, 2)))), greedy=True)
        return nodes.Opt(event, greedy=greedy)
    if wrapper == "KL":
        bounds = ((1, None), (1, None), (1, 2), (2, None), (2, 3), (1, 1))
        return nodes.Kleene(event, *draw(st.sampled_from(bounds)))
    return event


# --- conditions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Names:
    """The variables that a condition may read together: single, repeated, and of each NOT."""

    single: tuple[str, ...]
    repeated: tuple[str, ...]
    absent: tuple[tuple[str, ...], ...]


_RELAXED: tuple[c.ComparisonOperator, ...] = ("<=", ">=", "!=", "<=", ">=", "<", ">", "=")


def _numbers(variable: str, *, only: str = "xxxyz") -> st.SearchStrategy[c.Expression]:
    return st.sampled_from(only).map(lambda name: c.Attribute(variable, name))


def _constants(*values: Any) -> st.SearchStrategy[c.Literal]:
    return st.sampled_from(values).map(c.Literal)


@st.composite
def conditions(
    draw: st.DrawFn, names: _Names, kinds: tuple[ConditionKind, ...] = CONDITIONS
) -> c.Expression:
    """Draw one condition over some of the variables, with those of one NOT at most."""
    positive = [*names.single, *names.repeated]
    absent = draw(st.sampled_from(names.absent)) if names.absent else ()
    chosen = draw(st.permutations([*positive, *absent]))
    possible = [
        kind
        for kind in kinds
        if kind != "bound"
        and len(chosen) >= {"comparison": 2, "equality": 2, "difference": 2}.get(kind, 1)
        and (kind != "three-variables" or len(chosen) >= 3)
        and (kind not in ("set", "neighbours") or names.repeated)
        and (kind != "corr" or len(chosen) >= 2)
    ]
    # Rarer kinds get more weight.
    possible += [
        kind for kind in ("neighbours", "set", "three-variables", "comparison") if kind in possible
    ] * 2
    if not possible:
        return c.Literal(True)
    return draw(_condition(draw(st.sampled_from(possible)), tuple(chosen), names.repeated))


@st.composite
def _condition(
    draw: st.DrawFn, kind: ConditionKind, chosen: tuple[str, ...], repeated: tuple[str, ...]
) -> c.Expression:
    first, second, third = [*chosen, *chosen, *chosen][:3]
    sign = draw(st.sampled_from(_RELAXED))
    one, two = draw(_numbers(first)), draw(_numbers(second))
    match kind:
        case "filter":
            if draw(st.integers(0, 3)) == 3:
                text = draw(_constants("a", "b", "aa", "", None))
                return c.Comparison(sign, c.Attribute(first, "s"), text)
            return c.Comparison(sign, one, draw(_constants(1, 2, 0.5, 3, -1)))
        case "comparison":
            if draw(st.integers(0, 5)) == 5:
                one, two = c.Attribute(first, "s"), c.Attribute(second, "s")
            return c.Comparison(sign, one, two)
        case "equality":
            name = draw(st.sampled_from("kkxszyf"))
            return c.Comparison("=", c.Attribute(first, name), c.Attribute(second, name))
        case "difference":
            gap: c.Expression = c.Arithmetic("-", one, two)
            if draw(st.booleans()):
                gap = c.Call("abs", (gap,))
            elif draw(st.booleans()):
                return c.Comparison(sign, c.Arithmetic("+", one, c.Literal(1)), two)
            sign = draw(st.sampled_from(("<=", "<", ">=", ">")))
            return c.Comparison(sign, gap, draw(_constants(1, 2, 0.5, 0)))
        case "three-variables":
            whole = c.Arithmetic(draw(st.sampled_from(("+", "-"))), one, two)
            return c.Comparison(sign, whole, draw(_numbers(third)))
        case "or" | "not":
            simple = st.sampled_from(("filter", "comparison", "in", "is-null", "truth", "between"))
            some = _condition(draw(simple), chosen, repeated)
            if kind == "not":
                if draw(st.booleans()):
                    return c.Complement(draw(some))
                return c.Complement(c.AllOf((draw(some), draw(some))))
            if draw(st.integers(0, 3)) == 3:
                return c.AnyOf((c.AllOf((draw(some), draw(some))), c.Complement(draw(some))))
            return c.AnyOf((draw(some), draw(some)))
        case "in":
            negated = draw(st.booleans())
            if draw(st.booleans()):
                texts = draw(st.lists(_constants("a", "ab", "é", "c"), min_size=1, max_size=3))
                return c.InList(c.Attribute(first, "s"), tuple(texts), negated)
            choices = _constants(0, 1, 2.0, 3) | st.sampled_from([c.Literal(None), two])
            return c.InList(one, tuple(draw(st.lists(choices, min_size=1, max_size=3))), negated)
        case "between":
            low = draw(_constants(0, 1, 0.5)) if draw(st.booleans()) else two
            high = draw(_constants(2, 3, 1.5)) if draw(st.booleans()) else draw(_numbers(third))
            return c.Between(one, low, high, draw(st.integers(0, 3)) == 3)
        case "is-null":
            operand = draw(st.sampled_from((c.Attribute(first, "y"), c.Attribute(first, "s"))))
            if draw(st.booleans()):
                operand = c.Arithmetic(draw(st.sampled_from(("+", "/"))), one, two)
            return c.IsNull(operand, draw(st.integers(0, 3)) != 3)
        case "arithmetic":
            return c.Comparison(sign, draw(_terms(one, two)), draw(_constants(1, 0, 0.5, 2)))
        case "function":
            return c.Comparison(sign, draw(_calls(one, two)), draw(_constants(1, 0.25, 2)))
        case "truth":
            truth = c.Attribute(first, "f")
            if draw(st.booleans()):
                return truth
            return c.Comparison(
                draw(st.sampled_from(("=", "!="))), truth, draw(_constants(True, False))
            )
        case "constant":
            always = (c.Literal(True), c.Comparison("<", c.Literal(1), c.Literal(2)))
            missing = c.IsNull(c.Arithmetic("/", c.Literal(1), c.Literal(0)))
            never = (c.Literal(None), c.Literal(False))
            return draw(st.sampled_from((*always * 3, missing, *never)))
        case "corr":
            both = c.Call("corr", (c.Attribute(first, "h"), c.Attribute(second, "h")))
            # No correlation of the domain is near these.
            return c.Comparison(sign, both, draw(_constants(-0.75, 0.25, 0.75)))
        case "duration":
            return draw(_durations(first, second, third))
        case "neighbours":
            others = [name for name in chosen if name not in repeated]
            return draw(_between_neighbours(draw(st.sampled_from(repeated)), others))
        case "set":
            return draw(_set_conditions(draw(st.sampled_from(repeated)), chosen))


@st.composite
def _terms(draw: st.DrawFn, one: c.Expression, two: c.Expression) -> c.Expression:
    """Draw arithmetic with two operands, with small numbers that floats hold exactly."""
    three = c.Literal(draw(st.sampled_from((2, 0.5, -3))))
    match draw(st.integers(0, 5)):
        case 0:
            return c.Arithmetic("+", one, two)
        case 1:
            return c.Arithmetic("*", one, c.Arithmetic("-", two, three))
        case 2:
            return c.Arithmetic("/", one, two)
        case 3:
            return c.Arithmetic("%", c.Arithmetic("-", one, two), three)
        case 4:
            return c.Arithmetic("%", one, two)
        case _:
            return c.Negative(c.Arithmetic("-", one, two))


@st.composite
def _calls(draw: st.DrawFn, one: c.Expression, two: c.Expression) -> c.Expression:
    """Draw a call; roots and logarithms stay away from the constants they are compared with."""
    gap = c.Arithmetic("-", one, two)
    match draw(st.integers(0, 5)):
        case 0:
            return c.Call("least", (one, two))
        case 1:
            return c.Call("greatest", (one, two, c.Literal(0.5)))
        case 2:
            return c.Call("abs", (gap,))
        case 3:
            return c.Call("sqrt", (gap,))
        case 4:
            return c.Call("log", (one,))
        case _:
            return c.Call("greatest", (c.Call("abs", (gap,)), one))


_SPANS = _constants(*(timedelta(seconds=s) for s in (2, 1, 3, 0, 1.5, 5, -1)))


@st.composite
def _durations(draw: st.DrawFn, first: str, second: str, third: str) -> c.Expression:
    """Draw a condition about times and durations, with exact products and quotients."""
    sign = draw(st.sampled_from((">=", "<=", ">", "<", "!=", "=")))
    name = draw(st.sampled_from(("ts", "ts", "t")))
    one, two = c.Attribute(first, name), c.Attribute(second, draw(st.sampled_from((name, "ts"))))
    gap: c.Expression = c.Arithmetic("-", two, one)
    if draw(st.integers(0, 3)) == 3:
        gap = c.Negative(gap)
    own, span = c.Attribute(third, "d"), draw(_SPANS)
    number = draw(_constants(2, 0.5, 3, 0) | _numbers(third))
    match draw(st.integers(0, 12)):
        case 0:
            return c.Comparison(sign, gap, span)
        case 1:
            return c.Comparison(sign, c.Call("abs", (gap,)), span)
        case 2:
            return c.Comparison(sign, span, gap)
        case 3:
            moved = c.Arithmetic(
                draw(st.sampled_from(("+", "-"))), one, draw(_SPANS | st.just(own))
            )
            return c.Comparison(sign, two, moved)
        case 4:
            return c.Between(gap, span, draw(_SPANS), draw(st.booleans()))
        case 5:
            spans = draw(st.lists(_SPANS | st.just(own), min_size=1, max_size=3))
            return c.InList(gap, tuple(spans), draw(st.booleans()))
        case 6:
            return c.Comparison(sign, c.Arithmetic("/", gap, draw(_SPANS | st.just(own))), number)
        case 7:
            scaled = draw(st.permutations((own, number)))
            return c.Comparison(sign, gap, c.Arithmetic("*", *scaled))
        case 8:
            return c.Comparison(sign, c.Arithmetic("/", gap, number), draw(_SPANS | st.just(own)))
        case 9:
            return c.Comparison(sign, c.Arithmetic("%", gap, span), draw(_SPANS))
        case 10:
            function = draw(st.sampled_from(("least", "greatest")))
            return c.Comparison(sign, c.Call(function, (gap, own)), span)
        case 11:
            return c.Comparison(sign, one, draw(_constants("1970-01-01 00:00:02", "1970-01-01")))
        case _:
            return c.IsNull(c.Arithmetic("+", gap, own), draw(st.booleans()))


@st.composite
def _set_spans(draw: st.DrawFn, variable: str) -> c.Expression:
    """Draw a condition on the times and durations of the set of a Kleene variable."""
    sign = draw(st.sampled_from((">=", "<=", ">", "<", "!=", "=")))
    name = draw(st.sampled_from(("ts", "t")))
    ends = draw(st.sampled_from((("max", "min"), ("last", "first"), ("first", "last"))))
    gap = c.Arithmetic("-", *(c.Aggregate(f, variable, name) for f in ends))
    whole = c.Aggregate(draw(st.sampled_from(("sum", "avg", "min", "max"))), variable, "d")
    return c.Comparison(sign, draw(st.sampled_from((gap, whole))), draw(_SPANS))


@st.composite
def _between_neighbours(draw: st.DrawFn, variable: str, others: list[str]) -> c.Expression:
    """Draw a condition on each member of a set and the one before it, and single events."""
    sign = draw(st.sampled_from((">=", "<=", ">", "<", "!=", "=")))
    name = draw(st.sampled_from("xyz"))
    own = c.Attribute(variable, name)
    far = draw(st.sampled_from(("prev", "prev", "prev 2", "prev 3")))
    before = c.Aggregate(far, variable, name)
    match draw(st.integers(0, 10)):
        case 10:
            one = c.Aggregate("prev", variable, name)
            return c.Comparison(sign, c.Arithmetic("-", own, one), c.Arithmetic("-", one, before))
        case 6 | 7 | 8 | 9 as number:
            functions = ("sum", "avg", "min", "max", "count", "first", "last", "count distinct")
            function = draw(st.sampled_from(functions))
            prefix = draw(st.sampled_from((c.RUNNING, c.EARLIER)))
            up_to = c.Aggregate(prefix + function, variable, name)
            if number == 9 and others:
                return c.Comparison(sign, up_to, draw(_numbers(draw(st.sampled_from(others)))))
            if number == 8:
                return c.Comparison(sign, own, up_to)
            if number == 7:
                return c.AnyOf(
                    (c.Comparison(sign, own, before), c.Comparison("<", up_to, c.Literal(2)))
                )
            return c.Comparison(sign, up_to, draw(_constants(1, 2, 1.5, 4)))
        case 0:
            gap = c.Arithmetic(
                "-", c.Attribute(variable, "ts"), c.Aggregate("prev", variable, "ts")
            )
            return c.Comparison(sign, gap, draw(_SPANS))
        case 1 if others:
            other = draw(_numbers(draw(st.sampled_from(others))))
            return c.Comparison(sign, c.Arithmetic("-", own, before), other)
        case 2:
            return c.Comparison("!=", before, draw(_constants(1, 2)))
        case 3:
            fails = c.Comparison(sign, own, before)
            either = c.AnyOf((fails, c.Comparison("<", own, c.Literal(1))))
            return c.Complement(draw(st.sampled_from((fails, either))))
        case 4:
            high = c.Comparison(">", before, c.Literal(1))
            return c.AnyOf((c.Comparison(sign, own, before), high))
        case _:
            return c.Comparison(sign, own, before)


@st.composite
def _set_conditions(draw: st.DrawFn, variable: str, chosen: tuple[str, ...]) -> c.Expression:
    """Draw a condition with a set function of the Kleene variable."""
    sign = draw(st.sampled_from((">=", "<=", ">", "<", "!=", "=")))
    # Sums and averages of the domains are exact, or far from the constants.
    name = draw(st.sampled_from("xyz"))
    functions = ["sum", "avg", "min", "max", "first", "last", "count"]
    functions += ["member 2", "member 3", "member -2", "count distinct", "count distinct"]
    function = draw(st.sampled_from(functions))
    whole = c.Aggregate(function, variable, name)
    others = [other for other in chosen if other != variable]
    match draw(st.integers(0, 6)):
        case 6:
            return draw(_set_spans(variable))
        case 0:
            return c.Comparison(sign, c.Aggregate("count", variable), draw(_constants(2, 3)))
        case 1:
            return c.Comparison(sign, whole, draw(_constants(1, 2, 1.5)))
        case 2:
            first, last = (
                c.Aggregate(draw(st.sampled_from(ends)), variable, "x")
                for ends in (("first", "first", "member 2"), ("last", "last", "member -2"))
            )
            return c.Comparison(sign, first, last)
        case 3:
            return c.Comparison(sign, c.Attribute(variable, name), whole)
        case 4 if others:
            return c.Comparison(sign, whole, draw(_numbers(draw(st.sampled_from(others)))))
        case _:
            small = c.Comparison("<=", c.Aggregate("count", variable), c.Literal(2))
            return c.AnyOf((small, c.Comparison(sign, whole, c.Literal(2))))


# --- queries -----------------------------------------------------------------------------------


@st.composite
def windows(draw: st.DrawFn, kinds: tuple[WindowKind, ...] = WINDOWS) -> Window | None:
    """Draw a window, seldom one of a single moment."""
    kind = draw(st.sampled_from(kinds))
    exclusive = kind.endswith("exclusive")
    match kind:
        case "none":
            return None
        case "time" | "time-exclusive":
            return TimeWindow(
                draw(st.sampled_from((12, 6, 3, 20, 30, 9, 15, 1, 25, 0))) * UNIT, exclusive
            )
        case _:
            return CountWindow(
                draw(st.sampled_from((12, 6, 4, 20, 30, 9, 15, 2, 25, 1))), exclusive
            )


@st.composite
def queries(
    draw: st.DrawFn,
    operators: Iterable[Operator] = OPERATORS,
    max_variables: int = 5,
    strategies: tuple[Strategy, ...] = tuple(Strategy),
    windows: tuple[WindowKind, ...] = WINDOWS,
    *,
    condition_kinds: tuple[ConditionKind, ...] = CONDITIONS,
    max_conditions: int = 3,
    partitions: bool = True,
    type_sets: bool = True,
) -> Query:
    """Draw a query that passes `checks.check`.

    Args:
        draw: The draw function of hypothesis.
        operators: The operators of the structure.
        max_variables: The greatest number of its events, with absent ones.
        strategies: The selection strategies.
        windows: The kinds of windows.
        condition_kinds: The kinds of conditions; empty for none.
        max_conditions: The greatest number of conjuncts.
        partitions: Whether there may be PARTITION BY.
        type_sets: Whether an event may have several types, or any.
    """
    structure = draw(structures(operators, max_variables, type_sets=type_sets))
    usable = [s for s in strategies if partitions or s is not Strategy.PARTITION_CONTIGUITY]
    strategy = draw(st.sampled_from(usable))
    window = draw(_windows(windows))
    keys: tuple[str, ...] = ()
    by_itself = partitions and draw(st.integers(0, 3)) == 3
    if by_itself or strategy is Strategy.PARTITION_CONTIGUITY:
        keys = draw(st.sampled_from(_KEYS))
    bare = Query(structure, window=window, strategy=strategy, partition_by=keys)
    groups = unrolled(bare).groups
    branches = [named(branch.as_written, groups) for branch in normal_form(bare)]
    parts = []
    # Often without conditions, for many matches that test the structure.
    count = draw(st.sampled_from((0, 1, 0, 2, 1, 0, 3, 2)))
    for _ in range(min(count, max_conditions) if condition_kinds else 0):
        branch = draw(st.sampled_from(branches))
        repeated = tuple(name for name, _, _ in branch.repeated)
        single = tuple(name for name in branch.variables if name not in repeated)
        absent = tuple(tuple(e.variable for e in events) for events in branch.absences)
        parts.append(draw(conditions(_Names(single, repeated, absent), condition_kinds)))
        for group in groups if "neighbours" in condition_kinds else ():
            there = [v for v in group.variables if v in repeated]
            if there and draw(st.booleans()):
                parts.append(draw(_of_a_group(there)))
    where = None if not parts else parts[0] if len(parts) == 1 else c.AllOf(tuple(parts))
    bounds = draw(_bounds(branches)) if "bound" in condition_kinds else ()
    try:
        return check(Query(structure, where, window, strategy, keys, bounds=bounds))
    except PatternError:
        some = {"RUN", "UNTIL", "GREEDY", "GROUP"}
        if not some & {*operators} and "neighbours" not in condition_kinds:
            raise
        reject()  # runs, their ends and neighbours do not allow every condition


def named(branch: Branch, groups: tuple[Group, ...]) -> Branch:
    """Return a branch with written names: one repetition of each group, its variables as sets."""
    names = {new: v for v, new in in_first(groups).items()}
    later = {v for group in groups for each in group.repetitions[1:] for v in each}

    def with_names(events: tuple[nodes.Event, ...]) -> tuple[nodes.Event, ...]:
        return tuple(
            replace(e, variable=names.get(e.variable, e.variable))
            for e in events
            if e.variable not in later
        )

    sets = tuple((names[e.variable], 1, 9) for e in branch.positive if e.variable in names)
    return replace(
        branch,
        positive=with_names(branch.positive),
        negated=with_names(branch.negated),
        repeated=(*branch.repeated, *sets),
        order=frozenset(
            (names.get(x, x), names.get(y, y)) for x, y in branch.order if not {x, y} & later
        ),
    )


@st.composite
def _of_a_group(draw: st.DrawFn, variables: list[str]) -> c.Expression:
    """Draw a condition on variables of a group, of one repetition and of the one before it."""
    one, other = (draw(st.sampled_from(variables)) for _ in range(2))
    sign, name = draw(st.sampled_from(_RELAXED)), draw(st.sampled_from("xyz"))
    own = c.Attribute(one, name)
    match draw(st.integers(0, 4)):
        case 0:
            return c.Comparison(sign, own, c.Attribute(other, name))
        case 1:
            upto = c.Aggregate(draw(st.sampled_from((c.RUNNING, c.EARLIER))) + "sum", other, name)
            return c.Comparison(sign, upto, own)
        case 2:
            return c.Comparison(sign, c.Aggregate("avg", one, name), c.Attribute(other, name))
        case _:
            return c.Comparison(sign, own, c.Aggregate("prev", other, name))


@st.composite
def _bounds(draw: st.DrawFn, branches: list[Branch]) -> tuple[StepBound, ...]:
    """Draw bounds of steps, mostly none; in a fixed order the later event comes last."""
    bounds = []
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 0, 2)))):
        branch = draw(st.sampled_from(branches))
        absent = [event.variable for event in branch.negated]
        names = [*branch.variables, *absent]
        pairs = [
            (x, y)
            for x, y in permutations(names, 2)
            if (y, x) not in branch.order
            and (not {x, y} <= {*absent} or {x, y} <= branch.absent_with(x))
        ]
        pairs += [(name, name) for name, _, _ in branch.repeated]
        if pairs:
            seconds = draw(st.sampled_from((3, 2, 1, 6, 4, 12, 0)))
            window = TimeWindow(seconds * UNIT, draw(st.integers(0, 3)) == 3)
            bounds.append(StepBound(*draw(st.sampled_from(pairs)), window))
    return tuple(bounds)


_windows = windows
_KEYS = (("k",), ("k",), ("z",), ("y",), ("s", "k"))


# --- cases -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Case:
    """A query, a stream, and the judge's matches."""

    query: Query
    events: tuple[Event, ...]
    matches: frozenset[Match]
    ties: Ties = "none"

    def __repr__(self) -> str:
        """Return the query as text and the events with the attributes that it reads."""
        names = _attributes_read(self.query)
        ties = "" if self.ties == "none" else f", ties by {self.ties}"
        lines = [f"Case of {len(self.matches)} matches{ties}", str(self.query)]
        for event in self.events:
            values = " ".join(f"{name}={event.attributes[name]!r}" for name in names)
            lines.append(f"{event.arrival}: {event.type} @{event.ts / UNIT:g} {values}".rstrip())
        return "\n".join(lines)

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that a match may bind."""
        return tuple(event.variable for event in nodes.bound_events_of(self.query.written))


@st.composite
def cases(
    draw: st.DrawFn,
    operators: Iterable[Operator] = OPERATORS,
    max_variables: int = 5,
    strategies: tuple[Strategy, ...] = tuple(Strategy),
    windows: tuple[WindowKind, ...] = WINDOWS,
    *,
    max_events: int = 40,
    unsorted: bool = False,
    budget: int = 30_000,
    varying: tuple[str, ...] = (),
    ties: Ties | None = "none",
    change: Callable[[st.DrawFn, Query], Query] | None = None,
    **switches: Any,
) -> Case:
    """Draw a query and a stream for it.

    Args:
        draw: The draw function of hypothesis.
        operators: See `queries`.
        max_variables: See `queries`.
        strategies: See `queries`.
        windows: See `queries`.
        max_events: The greatest number of events.
        unsorted: Whether arrival may differ from the order of time.
        budget: The judge's budget; the stream is cut in half until the budget suffices.
        varying: Attributes that vary although the query does not read them.
        ties: The order of events of equal time, None for any; by arrival there are more of these.
        change: A function that draws a variant of the query.
        **switches: See `queries`.
    """
    ties = draw(st.sampled_from(TIES)) if ties is None else ties
    query = draw(queries(operators, max_variables, strategies, windows, **switches))
    query = query if change is None else change(draw, query)
    branch = draw(st.sampled_from(normal_form(query)))
    script = tuple(
        chain.from_iterable(
            repeat(min(event.types or TYPES[:1]), draw(st.integers(1, _most(branch, event))))
            for event in branch.positive
        )
    )
    # The types of the pattern and, half as often, others.
    own_types = {
        t for b in normal_form(query) for e in b.positive + b.negated for t in e.types or ()
    }
    types = tuple(sorted(own_types - {NEVER})) * 2 + (*TYPES[:1], NOISE)
    events = draw(
        streams(
            max_events,
            script=tuple(t for t in script if t != NEVER) or TYPES[:1],
            types=types,
            attributes=_attributes_read(query, varying),
            script_weight=3 if "contiguity" in query.strategy else 1,
            unsorted=unsorted,
            steps=(0, 0, 1, 0, 2) if ties == "arrival" else STEPS,
        )
    )
    while True:
        try:
            matches = frozenset(judge(events, query, budget=budget, ties=ties))
            return Case(query, tuple(events), matches, ties)
        except BudgetError:
            events = events[: len(events) // 2]


def _attributes_read(query: Query, more: Iterable[str] = ()) -> list[str]:
    names = {name for _, name in c.attributes_of(query.where)} if query.where else set()
    return [name for name in DOMAINS if name in {*names, *query.partition_by, *more}]


def _most(branch: Branch, event: nodes.Event) -> int:
    return 2 if any(name == event.variable for name, _, _ in branch.repeated) else 1


def orders(branch: Branch) -> st.SearchStrategy[tuple[str, ...]]:
    """Return a strategy for orders of the positive variables; the first is the pattern's own."""
    return st.permutations(branch.variables).map(tuple)


# --- between events and tables -----------------------------------------------------------------


def as_table(events: Iterable[Event]) -> pa.Table:
    """Return the events as rows in order of arrival: `id` (arrival), `ts`, `kind`, attributes."""
    import pyarrow as pa

    rows = sorted(events, key=lambda event: event.arrival)
    kinds = {"x": pa.int64(), "y": pa.float64(), "z": pa.int64(), "s": pa.string()}
    kinds |= {"k": pa.int64(), "f": pa.bool_(), "h": pa.list_(pa.float64())}
    kinds |= {"t": pa.timestamp("us"), "d": pa.duration("us")}
    columns = {
        "id": pa.array([event.arrival for event in rows], pa.int64()),
        "ts": pa.array([event.ts for event in rows], pa.timestamp("us")),
        "kind": pa.array([event.type for event in rows], pa.string()),
    }
    for name, kind in kinds.items():
        columns[name] = pa.array([event.attributes.get(name) for event in rows], kind)
    return pa.table(columns)


def as_pandas(events: Iterable[Event]) -> pd.DataFrame:
    """Return the events as a pandas frame, integers and truth values in nullable columns."""
    import pandas as pd
    import pyarrow as pa

    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    return as_table(events).to_pandas(types_mapper=nullable.get)


def result_of(table: Any, variables: Iterable[str]) -> set[Match]:
    """Return the matches of an engine's result in the judge's form.

    Args:
        table: An Arrow table, a pandas frame or an iterable of rows (mappings, Spark rows), with a
            column for each variable: the event as a struct, for a Kleene variable a list of them;
            null, or no column, if the match does not bind the variable.
        variables: All variables that a match may bind.

    Raises:
        AssertionError: A match occurs twice.
    """
    rows = table
    if hasattr(table, "to_pylist"):
        rows = table.to_pylist()
    elif hasattr(table, "to_dict"):
        rows = table.to_dict("records")
    names = tuple(variables)
    counts = Counter(_match_of(_plain(row), names) for row in rows)
    twice = [match for match, times in counts.items() if times > 1]
    assert not twice, f"found more than once: {twice}"
    return set(counts)


def _match_of(row: Mapping[str, Any], variables: tuple[str, ...]) -> Match:
    pairs: list[tuple[str, int | tuple[int, ...]]] = []
    for variable in variables:
        bound = row.get(variable)
        if isinstance(bound, list | np.ndarray):
            pairs.append((variable, tuple(sorted(int(_plain(event)["id"]) for event in bound))))
        # A frame holds NaN where nothing is bound.
        elif bound is not None and not isinstance(bound, float):
            pairs.append((variable, int(_plain(bound)["id"])))
    return frozenset(pairs)


def _plain(row: Any) -> Mapping[str, Any]:
    """Return a row as a mapping; Spark's rows are tuples."""
    return row.asDict() if hasattr(row, "asDict") else row
