"""Hypothesis strategies for arbitrary `Query` values: every node, nasty names, nasty texts.

They test the language only: the queries pass `checks.check` and may be silly. The strategies of
tests/strategies.py draw queries for detection.
"""

from __future__ import annotations

import string
from dataclasses import replace
from datetime import timedelta
from itertools import permutations

from hypothesis import strategies as st

from cepkit.errors import PatternError
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.checks import check
from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    AnyOf,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Comparison,
    Complement,
    InList,
    IsNull,
    Literal,
    Negative,
)
from cepkit.pattern.limits import LONGEST_WINDOW, MOST_IN_WINDOW
from cepkit.pattern.names import BEFORE_CLAUSES, BEFORE_EVENTS, RESERVED
from cepkit.pattern.nodes import And, Event, First, Kleene, Not, Opt, Or, Seq
from cepkit.pattern.normal_form import Branch, written_branches
from cepkit.pattern.policies import AfterMatch, CountWindow, SkipTo, StepBound, Strategy, TimeWindow
from cepkit.pattern.query import RESULT_ENDS, Query, ResultColumn
from cepkit.pattern.unrolling import unrolled
from tests.strategies import named as by_written_names

_INT64 = 2**63
_WORDS = (*RESERVED, *BEFORE_EVENTS, *BEFORE_CLAUSES, "OPT", "AS")

# Keywords in all cases, units, functions, near-keywords, and whatever unicode has to offer.
nasty_texts = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["'", '"', "''", '""', "a'b", 'a"b', "--", "# no", "a\nb", "a\r\n", "\t", " "]),
    st.sampled_from([*_WORDS, *map(str.lower, _WORDS), *map(str.title, _WORDS)]),
    st.sampled_from(["count", "COUNT", "sum", "abs", "hours", "events", "1a", "é", "e\u0301"]),
    st.sampled_from(
        ["\u017feq", "\u212al", "\u0131n", "\u0130N", "WHERE\u0301", "_", "a-b", "a.b", "\ufeff"]
    ),
)
plain_names = st.text(string.ascii_letters, min_size=1, max_size=3)
names = plain_names | nasty_texts
variables = names.filter(bool)

literals = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-_INT64, _INT64 - 1),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(1 - _INT64, _INT64 - 1).map(lambda us: timedelta(microseconds=us)),
    st.integers(-3, 3).map(lambda hours: timedelta(hours=hours)),
    st.datetimes().map(lambda time: time.replace(fold=0)),  # of a zone, which it has none
    nasty_texts,
).map(Literal)


@st.composite
def structures(draw: st.DrawFn, depth: int = 3) -> object:
    """Draw a structure with at least one positive event in every branch."""
    used: set[str] = set()

    def event() -> Event:
        variable = draw(variables.filter(lambda name: name not in used))
        used.add(variable)
        types = draw(st.one_of(st.none(), st.just({variable}), st.sets(names, min_size=1)))
        return Event(variable, None if types is None else frozenset(types))

    def node(depth: int, *, may_be_absent: bool) -> object:
        kinds = ["event", "kleene", "group"] + ["not", "opt"] * may_be_absent
        kinds += ["seq", "and", "or"] * (depth > 0)
        kind = draw(st.sampled_from(kinds))
        if kind == "event":
            return event()
        if kind == "not":
            together = draw(st.sampled_from((1, 1, 1, 2, 3)))
            absent = tuple(event() for _ in range(together))
            return Not(absent[0] if together == 1 else draw(st.sampled_from((Seq, And)))(absent))
        if kind == "opt":
            item = node(depth - 1, may_be_absent=False) if depth > 0 else event()
            return Opt(item, greedy=isinstance(item, Event) and draw(st.booleans()))
        if kind == "kleene":
            least = draw(st.integers(1, 5))
            most = draw(st.none() | st.integers(least, least + 5))
            return Kleene(event(), least, most)
        if kind == "group":
            least = draw(st.integers(1, 2))
            parts = [event() for _ in range(draw(st.integers(1, 3)))]
            parts[1:] = [Not(part) if draw(st.booleans()) else part for part in parts[1:]]
            group = Seq(tuple(parts)) if draw(st.booleans()) else And(tuple(parts))
            return Kleene(group, least, least + draw(st.integers(0, 1)))
        count = draw(st.integers(1, 3))
        if kind == "or":
            return Or(tuple(node(depth - 1, may_be_absent=may_be_absent) for _ in range(count)))
        present = draw(st.integers(0, count - 1))
        items = tuple(
            node(depth - 1, may_be_absent=may_be_absent or i != present) for i in range(count)
        )
        if kind == "seq" and isinstance(items[0], Event | Kleene):
            begin, *rest = items
            first = (First(i) if isinstance(i, Event) and draw(st.booleans()) else i for i in rest)
            items = (begin, *first)
        return Seq(items) if kind == "seq" else And(items)

    return node(depth, may_be_absent=False)


def _calls(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.tuples(st.sampled_from(["abs", "sqrt", "log"]), st.tuples(values)),
        st.tuples(st.sampled_from(["least", "greatest"]), st.lists(values, min_size=2, max_size=3)),
        st.tuples(st.just("corr"), st.tuples(values, values)),
        # Registered by tests/properties/test_round_trip.py
        st.tuples(st.sampled_from(["spread", "between", "\u2130"]), st.lists(values, max_size=2)),
    ).map(lambda call: Call(call[0], tuple(call[1])))


def _atoms(
    single: list[str], repeated: list[str], members: list[str]
) -> list[st.SearchStrategy[object]]:
    """Return strategies for the leaves of values; `members` are sets, read one member at a time."""
    atoms: list[st.SearchStrategy[object]] = [literals]
    if single or members:
        atoms.append(st.builds(Attribute, st.sampled_from(single + members), names))
    if repeated:
        kleene = st.sampled_from(repeated)
        functions = st.sampled_from(["sum", "avg", "min", "max", "first", "last", "count"])
        atoms.append(st.builds(Aggregate, functions, kleene, names))
        atoms.append(st.builds(Aggregate, st.just("count"), kleene))
    return atoms


def _values(atoms: list[st.SearchStrategy[object]]) -> st.SearchStrategy[object]:
    return st.recursive(
        st.one_of(atoms),
        lambda inner: st.one_of(
            st.builds(Negative, inner),
            st.builds(Arithmetic, st.sampled_from("+-*/%"), inner, inner),
            _calls(inner),
        ),
        max_leaves=6,
    )


def _conditions_about(single: list[str], repeated: list[str]) -> st.SearchStrategy[object]:
    atoms = _atoms(single, repeated, repeated)
    values = _values(atoms)
    comparisons = st.one_of(
        st.builds(Comparison, st.sampled_from(["<", "<=", "=", "!=", ">=", ">"]), values, values),
        st.builds(
            InList, values, st.lists(values, min_size=1, max_size=3).map(tuple), st.booleans()
        ),
        st.builds(Between, values, values, values, st.booleans()),
        st.builds(IsNull, values, st.booleans()),
        st.sampled_from([Literal(True), Literal(False), Literal(None), Call("spread", ())]),
        *atoms[1:2],
    )
    return st.recursive(
        comparisons,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda items: AllOf(tuple(items))),
            st.lists(inner, min_size=2, max_size=3).map(lambda items: AnyOf(tuple(items))),
            st.builds(Complement, inner),
        ),
        max_leaves=5,
    )


windows = st.one_of(
    st.none(),
    st.builds(TimeWindow, st.integers(0, LONGEST_WINDOW), st.booleans()),
    st.builds(
        TimeWindow, st.sampled_from([0, 1, 1000, 3_600_000_000, 604_800_000_000]), st.booleans()
    ),
    st.builds(CountWindow, st.integers(1, MOST_IN_WINDOW), st.booleans()),
)


def _bounds(branch: Branch) -> st.SearchStrategy[tuple[StepBound, ...]]:
    """Return a strategy for bounds of steps that agree with the order of a branch."""
    pairs = [
        (x, y)
        for x, y in permutations((*branch.variables, *(e.variable for e in branch.negated[:1])), 2)
        if (y, x) not in branch.order
    ]
    pairs += [(name, name) for name, _, _ in branch.repeated]
    if not pairs:
        return st.just(())
    lengths = st.builds(TimeWindow, st.integers(0, LONGEST_WINDOW), st.booleans())
    one = st.tuples(st.sampled_from(pairs), lengths)
    several = st.lists(one.map(lambda pair: StepBound(*pair[0], pair[1])), max_size=2)
    return several.map(tuple)


def _thresholds(aggregates: tuple[Aggregate, ...]) -> st.SearchStrategy[tuple[Comparison, ...]]:
    """Draw comparisons of aggregates with numbers, as in HAVING."""
    if not aggregates:
        return st.just(())
    numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    one = st.builds(
        Comparison,
        st.sampled_from(("<", "<=", "=", "!=", ">=", ">")),
        st.sampled_from(aggregates),
        st.builds(Literal, numbers),
    )
    return st.lists(one, max_size=2).map(tuple)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """Draw any query that passes `checks.check`."""
    structure = draw(structures())
    # A condition is about events that one match has together, and at most one absent event.
    bare = unrolled(Query(structure))
    branch = by_written_names(draw(st.sampled_from(written_branches(bare))), bare.groups)
    repeated = [name for name, _, _ in branch.repeated]
    single = [event.variable for event in (*branch.positive, *branch.negated[:1])]
    single = [name for name in single if name not in repeated]
    where = draw(st.none() | _conditions_about(single, repeated))
    columns = st.lists(names, max_size=2).map(tuple)
    partition_by = draw(columns)
    strategies = [s for s in Strategy if partition_by or s is not Strategy.PARTITION_CONTIGUITY]
    positive = st.sampled_from([event.variable for event in branch.positive])
    aggregate = st.one_of(
        st.builds(Aggregate, st.sampled_from([*AGGREGATES]), positive, names),
        st.builds(Aggregate, st.just("count"), st.none() | positive),
    )
    aggregates = tuple(draw(st.lists(aggregate, max_size=2)))
    present = [event.variable for event in branch.positive if event.variable in single]
    value = _values(_atoms(present, repeated, []))
    if repeated:
        value |= st.builds(Attribute, st.sampled_from(repeated), names)
    free = variables.filter(lambda name: name not in RESULT_ENDS)
    results = st.lists(
        st.builds(ResultColumn, free, value), max_size=3, unique_by=lambda column: column.name
    )
    strategy = draw(st.sampled_from(strategies))
    skips = [AfterMatch(SkipTo.PAST_LAST_EVENT), AfterMatch(SkipTo.NEXT)]
    for named in branch.positive:
        skips += [AfterMatch(to, named.variable) for to in (SkipTo.FIRST, SkipTo.LAST)]
    skip = None if strategy is Strategy.SKIP_TILL_NEXT_MATCH else draw(st.sampled_from(skips))
    query = Query(
        structure,
        where,
        draw(windows),
        strategy,
        partition_by,
        aggregates,
        draw(columns) if aggregates else (),
        draw(_thresholds(aggregates)),
        draw(st.none() | st.just(skip)),
        () if aggregates else tuple(draw(results)),
        draw(_bounds(branch)),
    )
    try:
        return check(query)
    except PatternError:  # a match may be without the event that it skips to, or begin with it
        return check(replace(query, after_match=None))
