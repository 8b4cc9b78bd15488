"""A stream of which the watermark moves on has the judge's matches, however its events come."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from cepkit.errors import LimitError, UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.nodes import bound_events_of, events_of
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import Strategy, TimeWindow
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.routes.aggregates import way_of
from cepkit.routes.functions import functions_of
from cepkit.spark.aggregates.one_pass import sink_for
from cepkit.spark.aggregates.query import prepare as prepare_aggregates
from cepkit.spark.streaming.aggregate import aggregate_bucket
from cepkit.spark.streaming.bucket import Bucket, Held
from cepkit.spark.streaming.prepare import prepare
from cepkit.spark.streaming.several import prepare_several
from cepkit.spark.streaming.state import from_bytes, to_bytes
from cepkit.stream.schema import Schema
from tests.aggregates import rows_in
from tests.cells import stream_of
from tests.judge import Event, judge
from tests.properties.test_aggregation import AGGREGATED, SEQUENCES, expected, with_aggregates
from tests.properties.test_engine import plans
from tests.properties.test_several import plan_of, workload
from tests.strategies import UNIT, Case, as_table, cases, result_of

SCHEMA = Schema("ts", "kind")
CASES = {
    "windows": ("time", "time-exclusive"),
    "strategies": (Strategy.SKIP_TILL_ANY_MATCH, Strategy.SKIP_TILL_NEXT_MATCH),
}


@dataclass
class Run:
    """A bucket that is restored from its state before every step.

    Attributes:
        buckets: The same query under several plans, which take over from each other in turn.
        batches: What was told, with its kind.
        numbered: For each event its number in the order in which they came.
    """

    buckets: Sequence[Bucket]
    batches: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)
    state: tuple[bytes, int | None] = (b"", None)
    steps: int = 0
    numbered: dict[int, int] = field(default_factory=dict)

    def rows(self, kind: str) -> list[Any]:
        """Return what was told of a kind."""
        return [row for k, batch in self.batches if k == kind for row in batch.to_pylist()]

    def step(self, new: pa.Table, until: int) -> Held:
        bucket = self.buckets[self.steps % len(self.buckets)]
        self.steps += 1
        sent = new.select(bucket.sending.columns.names)
        working = bucket.step(from_bytes(bucket, *self.state), sent, until)
        while True:
            try:
                kind, found = next(working)
            except StopIteration as end:
                held = end.value
                break
            if not isinstance(found, int):
                self.batches.append((kind, found))
        self.state = to_bytes(held), held.complete
        return held


def arrivals(
    data: st.DataObject, case: Case, *, in_order: bool = False
) -> list[tuple[list[Any], int]]:
    """Draw batches in which the events come, and what is complete before each; some are late."""
    events = list(case.events)
    if not in_order and data.draw(st.booleans()):
        events = data.draw(st.permutations(events))
    cuts = st.sampled_from(range(len(events) + 1))
    ends = sorted(data.draw(st.lists(cuts, min_size=2, max_size=8)))
    lateness = data.draw(st.sampled_from((0, 2, 5, 1, 12))) * UNIT
    batches, begin, until = [], 0, 0
    for end in (*ends, len(events)):
        batches.append((events[begin:end], until))
        latest = max((event.ts for event in events[:end]), default=0)
        until = max(until, latest - lateness + data.draw(st.sampled_from((1, 0))))
        begin = end
    return batches


def fed(run: Run, batches: list[tuple[list[Any], int]]) -> tuple[list[Any], list[int]]:
    """Feed a bucket events; return those that were not late, numbered as they came, and the rest.

    The latter, and what `Run` yields, have the numbers that the events had before.
    """
    timely, late, numbered = [], [], {}
    searches = run.buckets[0].searches
    for events, until in batches:
        for event in events:
            (late if event.ts < until else timely).append(event)
            numbered[event.arrival] = len(numbered)
        rows = as_table(sorted(events, key=lambda event: numbered[event.arrival]))
        order = np.argsort([numbered[number] for number in rows.column("id").to_pylist()])
        held = run.step(rows.take(pa.array(order, pa.int64())), until)
        times = held.events.column("ts").cast(pa.int64()).to_numpy()
        assert all(times >= until - max(each.window + each.ahead for each in searches))
    everything = max((event.ts for events, _ in batches for event in events), default=0)
    run.step(as_table([]), everything + max(each.ahead for each in searches) + UNIT)
    run.numbered = numbered
    renumbered = [
        type(event)(event.ts, event.type, event.attributes, numbered[event.arrival])
        for event in timely
    ]
    return renumbered, sorted(event.arrival for event in late)


def judged(run: Run, events: list[Any], query: Query, budget: int | None = None) -> set[Any]:
    """Return the judge's matches, with the numbers that the events had before."""
    back = {number: arrival for arrival, number in run.numbered.items()}
    return {
        frozenset(
            (v, back[n] if isinstance(n, int) else tuple(sorted(back[one] for one in n)))
            for v, n in match
        )
        for match in judge(events, query, budget=budget)
    }


@given(data=st.data())
def test_the_matches_are_those_of_all_events_that_were_not_late(data: st.DataObject) -> None:
    case = data.draw(cases(**CASES))
    batches = arrivals(data, case)
    stream = stream_of(as_table(case.events), SCHEMA)
    chosen: list[Plan] = data.draw(st.lists(plans(case), min_size=1, max_size=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        prepared = [prepare(stream, case.query, plan) for plan in chosen]
    run = Run([one.bucket for one in prepared])
    timely, late = fed(run, batches)
    assert sorted(row["id"] for row in run.rows("late")) == late
    assert result_of(run.rows("match"), case.variables) == judged(run, timely, case.query)


@given(data=st.data())
def test_the_matches_of_several_queries_are_those_of_each(data: st.DataObject) -> None:
    case = data.draw(cases(windows=("time",), strategies=(Strategy.SKIP_TILL_ANY_MATCH,)))
    drawn = {name: query for name, (query, _) in workload(data.draw, case).items()}
    queries = {
        name: query
        for name, query in drawn.items()
        if query.strategy is Strategy.SKIP_TILL_ANY_MATCH and isinstance(query.window, TimeWindow)
    }
    batches = arrivals(data, case)
    stream = stream_of(as_table(case.events), SCHEMA)
    share = data.draw(st.booleans())
    chosen = [
        [plan_of(data.draw, query) for query in queries.values()]
        for _ in range(data.draw(st.integers(1, 2)))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = [
            prepare_several(stream, stream.source.schema, queries, plans, share=share)
            for plans in chosen
        ]
    run, table = Run([one.bucket for one, _, _ in prepared]), prepared[0][1]
    timely, late = fed(run, batches)
    assert sorted(row["id"] for row in run.rows("late")) == late
    rows: dict[int, list[Any]] = {number: [] for number in range(len(queries))}
    for kind, batch in run.batches:
        for number, own in table.parted(batch) if kind == "match" else ():
            rows[number] += own.to_pylist()
    for number, query in enumerate(queries.values()):
        variables = tuple(event.variable for event in bound_events_of(query.structure))
        assert result_of(rows[number], variables) == judged(run, timely, query)


@given(data=st.data())
def test_what_times_out_is_what_nothing_extends(data: st.DataObject) -> None:
    operator = data.draw(st.sampled_from((("SEQ",), ("AND",))))
    case = data.draw(
        cases(
            operator,
            max_variables=4,
            windows=CASES["windows"],
            strategies=CASES["strategies"][:1],
            max_events=16,
            change=_flat,
        )
    )
    stream = stream_of(as_table(case.events), SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = prepare(stream, case.query, as_plan(None, case.query), timeouts=True)
    run = Run([prepared.bucket])
    events = sorted(case.events, key=lambda event: event.ts)
    half = events[len(events) // 2].ts if events else 0
    run.step(as_table([e for e in events if e.ts < half]), 0)
    last = max((event.ts for event in events), default=0)
    window = prepared.bucket.searches[0].window
    run.step(as_table([e for e in events if e.ts >= half]), half)
    run.step(as_table([]), last + window + UNIT)
    names = case.variables
    expected: set[Any] = set()
    for k in range(1, len(names)):
        shorter, longer = (judge(events, _first(case.query, n)) for n in (k, k + 1))
        extended = {frozenset(p for p in match if p[0] != names[k]) for match in longer}
        expected |= shorter - extended
    assert result_of(run.rows("timed-out"), names) == expected
    assert result_of(run.rows("match"), names) == case.matches


def _flat(draw: st.DrawFn, query: Query) -> Query:
    """Return a query whose structure is one SEQ or AND of all its events."""
    events = events_of(query.structure)
    kind = type(query.structure) if isinstance(query.structure, nodes.And) else nodes.Seq
    return query if len(events) < 2 else replace(query, structure=kind(tuple(events)))


def _first(query: Query, n: int) -> Query:
    """Return what a query says about its first variables alone."""
    events = events_of(query.structure)[:n]
    known = {event.variable for event in events}
    parts = tuple(p for p in c.conjuncts(query.where) if c.variables_of(p) <= known)
    structure = events[0] if n == 1 else type(query.structure)(tuple(events))
    return replace(query, structure=structure, where=c.AllOf(parts) if parts else None)


@given(case=SEQUENCES, data=st.data())
def test_aggregates_of_sequences_are_those_of_the_batch(case: Case, data: st.DataObject) -> None:
    check_aggregates(case, data, data.draw(st.sampled_from(["a-seq", "detect"])))


TIMED = cases(
    max_variables=4,
    max_events=20,
    windows=CASES["windows"],
    strategies=CASES["strategies"][:1],
    budget=10_000,
    varying=AGGREGATED,
    change=with_aggregates,
)


@given(case=TIMED, data=st.data())
def test_aggregates_of_what_is_detected_are_those_of_the_batch(
    case: Case, data: st.DataObject
) -> None:
    check_aggregates(case, data, "auto")


def check_aggregates(case: Case, data: st.DataObject, method: str) -> None:
    """Check the rows of a bucket whose events come in any order, none of them late."""
    emit: Any = data.draw(st.sampled_from(["trigger", "changes", "new"]))
    stream = stream_of(as_table(case.events), SCHEMA)
    query = case.query
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = prepare_aggregates(
            stream, query, functions_of(query, {}), way_of(query, method), emit
        )
    try:
        bucket, _ = aggregate_bucket(prepared)
    except UnsupportedError:
        reject()  # without a window in time
    run, until, ahead = Run([bucket]), 0, list(case.events)
    for rows, mark in arrivals(data, case, in_order=True):
        until = max(until, min([mark, *(event.ts for event in ahead)]))
        ahead = ahead[len(rows) :]
        run.step(as_table(rows), until)
    search = bucket.searches[0]
    run.step(as_table([]), until + 200 * UNIT + search.window + search.ahead)
    sink, _, _ = sink_for({0: prepared}, ())
    found: Any = Counter()
    for kind, batch in run.batches:
        assert kind == "row"
        for _, part in sink.aggregation.rows.parted(batch):
            found += rows_in(pa.Table.from_batches([part]), query)
    assert found == expected(case, emit)


def test_a_bucket_that_would_hold_too_much_is_refused() -> None:
    query = parse("PATTERN SEQ(A a, B b) WITHIN 5 s")
    table = as_table([Event(0, "A", {}, number) for number in range(100)])
    (bucket,) = [prepare(stream_of(table, SCHEMA), query, as_plan(None, query)).bucket]
    run = Run([bucket])
    held = run.step(table, 0)
    with pytest.raises(LimitError, match="a bucket would hold 100 events"):
        to_bytes(held, most=1_000)
    assert len(to_bytes(held)) < 100 * 100
