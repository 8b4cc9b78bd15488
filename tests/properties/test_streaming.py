"""A stream with a moving watermark has the judge's matches, for every order of arrival."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import cepkit as ck
from cepkit.adaptation.choice import slice_plans
from cepkit.adaptation.decisions import DECISIONS, Invariants
from cepkit.adaptation.loop import Adaptation
from cepkit.columnar.compile.query import compile_query
from cepkit.errors import LimitError, UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.nodes import bound_events_of, events_of
from cepkit.pattern.numbers import has_next
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.pattern.several import ALONE
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.planners.choose import choose_plan
from cepkit.routes.functions import functions_of
from cepkit.routes.sharing import Shared, SharingPlan, plan_sharing, shareable
from cepkit.routes.ways import way_of
from cepkit.spark.profile.counting import unknown_rates
from cepkit.spark.streaming.aggregate import prepare_aggregation
from cepkit.spark.streaming.bucket import Bucket, Held
from cepkit.spark.streaming.explanation import work_of_texts
from cepkit.spark.streaming.pieces import Packing, read_pieces
from cepkit.spark.streaming.prepare import Prepared, dealt_out, prepare, reach_of
from cepkit.spark.streaming.searches import MatchSearch
from cepkit.spark.streaming.state import from_bytes, to_bytes
from cepkit.spark.streaming.timeouts import timeout_queries
from cepkit.statistics.measuring.estimate import estimate
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.lateness import Lateness
from cepkit.stream.schema import Schema
from tests.aggregates import rows_in
from tests.cells import stream_of
from tests.judge import Event, judge
from tests.properties.test_after_match import with_skip
from tests.properties.test_aggregation import AGGREGATED, SEQUENCES, expected, with_aggregates
from tests.properties.test_aggregation_in_cells import workloads
from tests.properties.test_engine import plans
from tests.properties.test_several import plan_of, workload
from tests.strategies import UNIT, Case, as_table, cases, result_of, streams

SCHEMA = Schema("ts", "kind")
CASES = {
    "windows": ("time", "time-exclusive"),
    "strategies": (Strategy.SKIP_TILL_ANY_MATCH, Strategy.SKIP_TILL_NEXT_MATCH),
}
COUNTING = ("count", "count-exclusive", "time", "none")


def alone(stream: Any, query: Query, plan: Plan, **options: Any) -> Prepared:
    """Return a single query made ready."""
    return prepare(stream, {ALONE: query}, [plan], **options)


@dataclass
class Run:
    """A bucket that is restored from its state before every step.

    Attributes:
        buckets: Buckets of one query under several plans, which take turns.
        batches: The batches of output, with their kinds.
        plans: The plans that ran, in words.
        work: The work of their steps, as texts.
        lateness: The most that an event is earlier than the latest of its micro-batch and of those
            before, if a bucket may rely on that; else None.
        numbered: The number of each event in the order of arrival.
    """

    buckets: Sequence[Bucket]
    batches: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)
    state: tuple[bytes, int | None, tuple[str, ...]] = (b"", None, ())
    steps: int = 0
    plans: list[str] = field(default_factory=list)
    work: list[str] = field(default_factory=list)
    lateness: int | None = None
    numbered: dict[int, int] = field(default_factory=dict)

    @property
    def survivors(self) -> int:
        """The number of matches after the last steps of the first search."""
        # Each text is about one plan; plans of the same query may have different steps.
        works = (work_of_texts([text]).get(0, {}) for text in self.work)
        return sum(
            steps[-1].survivors for work in works for each in work.values() for steps in each
        )

    def rows(self, kind: str) -> list[Any]:
        """Return the rows of one kind of output."""
        batches = [batch for k, batch in self.batches if k == kind]
        if kind in ("match", "timed-out"):
            search = self.buckets[0].searches[0]
            assert isinstance(search, MatchSearch)
            batches = [own for batch in batches for _, own in search.table.parted(batch)]
        return [row for batch in batches for row in batch.to_pylist()]

    def step(self, new: pa.Table, until: int | None) -> Held:
        bucket = self.buckets[self.steps % len(self.buckets)]
        self.steps += 1
        return self.feed(bucket, new.select(bucket.sending.columns.names), until, 0)

    def feed(self, bucket: Bucket, sent: pa.Table, until: int | None, number: int) -> Held:
        complete = None
        if self.lateness is not None and len(sent):
            complete = int(bucket.sending.times(sent).max()) - self.lateness + 1
        held = from_bytes(bucket, *self.state)
        working = bucket.step(held, sent, until, number, complete=complete)
        while True:
            try:
                kind, output = next(working)
            except StopIteration as end:
                held = end.value
                break
            if isinstance(output, str):
                (self.plans if kind == "plan" else self.work).append(output)
            elif not isinstance(output, int):
                self.batches.append((kind, output))
        self.state = to_bytes(held), held.complete, held.plans
        return held


@dataclass
class SlicedRun(Run):
    """The buckets of slices of time, each with a state of its own."""

    states: dict[int, tuple[bytes, int | None, tuple[str, ...]]] = field(default_factory=dict)
    copies: int = 0

    def step(self, new: pa.Table, until: int | None) -> Held:
        bucket = self.buckets[0]
        assert bucket.slices is not None
        packing = Packing(bucket.sending, range(bucket.slices.buckets), None, False, bucket.slices)
        pieces: dict[int, list[bytes]] = {}
        rows_sent = 0
        for number, kind, rows, packed in packing._packed(new.select(bucket.sending.columns.names)):
            assert kind == "events"
            assert packed is not None
            pieces.setdefault(number, []).append(packed)
            rows_sent += rows
        assert rows_sent == len(new)
        held = []
        for number in range(bucket.slices.buckets):
            self.state = self.states.get(number, (b"", None, ()))
            sent = read_pieces(pieces.get(number, ()), bucket.sending.fields)
            self.copies += len(sent)
            held.append(self.feed(bucket, sent, until, number).events)
            self.states[number] = self.state
        return Held(pa.concat_tables(held), until)


def arrivals(
    data: st.DataObject, events: Sequence[Any], *, in_order: bool = False
) -> tuple[list[tuple[list[Any], int]], int | None]:
    """Draw the batches in which the events come, some of them late.

    Returns:
        The batches, each with the time up to which the stream is complete before it; and the
        lateness, if no event after a batch is earlier by more than that.
    """
    events = list(events)
    if not in_order and data.draw(st.booleans()):
        events = data.draw(st.permutations(events))
    cuts = st.sampled_from(range(len(events) + 1))
    ends = sorted(data.draw(st.lists(cuts, min_size=2, max_size=8)))
    lateness = data.draw(st.sampled_from((0, 2, 5, 1, 12))) * UNIT
    known = data.draw(st.booleans())
    batches, begin, until = [], 0, 0
    for end in (*ends, len(events)):
        batches.append((events[begin:end], until))
        latest = max((event.ts for event in events[:end]), default=0)
        until = max(until, latest - lateness + (known or data.draw(st.sampled_from((1, 0)))))
        begin = end
    return batches, lateness if known else None


def fed(run: Run, batches: list[tuple[list[Any], int]]) -> tuple[list[Any], list[int]]:
    """Feed batches of events to a bucket.

    Returns:
        The events that were not late, numbered in the order of arrival; and the original numbers
        of the late ones. The rows of `Run` have original numbers, too.
    """
    timely, late, numbered = [], [], {}
    reaches = [search.reach for search in run.buckets[0].searches]
    for events, until in batches:
        for event in events:
            (late if event.ts < until else timely).append(event)
            numbered[event.arrival] = len(numbered)
        rows = as_table(sorted(events, key=lambda event: numbered[event.arrival]))
        order = np.argsort([numbered[number] for number in rows.column("id").to_pylist()])
        held = run.step(rows.take(pa.array(order, pa.int64())), until)
        times = held.events.column("ts").cast(pa.int64()).to_numpy()
        longest = max(each.window + each.ahead for each in reaches)
        old = int((times < until - longest).sum())
        assert old <= most_counted(run.buckets[0], held.events)
    everything = max((event.ts for events, _ in batches for event in events), default=0)
    run.step(as_table([]), everything + max(each.ahead for each in reaches) + UNIT)
    run.numbered = numbered
    renumbered = [
        type(event)(event.ts, event.type, event.attributes, numbered[event.arrival])
        for event in timely
    ]
    return renumbered, sorted(event.arrival for event in late)


def most_counted(bucket: Bucket, held: pa.Table) -> int:
    """Return the most events that the state may have beyond every window in time."""
    reaches = [search.reach.counted for search in bucket.searches]
    names = {name for each in reaches if each is not None for name in each.partition_by}
    partitions = len({tuple(map(str, row.values())) for row in held.select([*names]).to_pylist()})
    most = sum(each.last or 0 for each in reaches if each is not None)
    return most * max(1, partitions)


def judged(
    run: Run, events: list[Any], query: Query, *, counted: bool = False, budget: int | None = None
) -> set[Any]:
    """Return the judge's matches, with the original numbers of events.

    Args:
        run: The run, for the order of arrival.
        events: The events that were not late.
        query: The query.
        counted: Whether events count in the order of time, and of arrival at one time.
        budget: The judge's budget.
    """
    back = {number: arrival for arrival, number in run.numbered.items()}
    if counted:
        ordered = sorted(events, key=lambda event: (event.ts, event.arrival))
        back = {number: back[event.arrival] for number, event in enumerate(ordered)}
        events = [Event(e.ts, e.type, e.attributes, n) for n, e in enumerate(ordered)]
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
    batches, lateness = arrivals(data, case.events)
    stream = stream_of(as_table(case.events), SCHEMA)
    chosen: list[Plan] = data.draw(st.lists(plans(case), min_size=1, max_size=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        prepared = [alone(stream, case.query, plan) for plan in chosen]
    run = Run([one.bucket for one in prepared], lateness=lateness)
    timely, late = fed(run, batches)
    assert sorted(row["id"] for row in run.rows("late")) == late
    counted = has_next(case.query.structure)
    matches = judged(run, timely, case.query, counted=counted)
    assert result_of(run.rows("match"), case.variables) == matches
    assert run.survivors == len(run.rows("match"))


@given(data=st.data())
def test_ties_go_by_the_arrival_column(data: st.DataObject) -> None:
    case = data.draw(cases(**CASES, ties="arrival"))
    batches, lateness = arrivals(data, case.events)
    schema = Schema("ts", "kind", arrival="id", ties="arrival")
    stream = stream_of(as_table(case.events), schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = alone(stream, case.query, data.draw(plans(case)))
    run = Run([prepared.bucket], lateness=lateness)
    _, late = fed(run, batches)
    timely = [event for event in case.events if event.arrival not in late]
    assume(not late or not has_next(case.query.structure))  # which counts events
    matches = judge(timely, case.query, ties="arrival")
    assert result_of(run.rows("match"), case.variables) == matches


SKIPPING = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "NEXT", "OPT"),
    max_variables=4,
    max_events=24,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    windows=CASES["windows"],
    change=with_skip,
)


@given(data=st.data())
def test_skip_on_a_stream_leaves_the_matches_of_a_batch(data: st.DataObject) -> None:
    case = data.draw(SKIPPING)
    batches, lateness = arrivals(data, case.events)
    stream = stream_of(as_table(case.events), SCHEMA)
    chosen: list[Plan] = data.draw(st.lists(plans(case), min_size=1, max_size=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = data.draw(st.sampled_from((ALONE, "one")))
        prepared = [prepare(stream, {name: case.query}, [plan]) for plan in chosen]
    run = Run([one.bucket for one in prepared], lateness=lateness)
    timely, late = fed(run, batches)
    assert sorted(row["id"] for row in run.rows("late")) == late
    counted = prepared[0].bucket.searches[0].reach.counted is not None
    matches = judged(run, timely, case.query, counted=counted)
    assert result_of(run.rows("match"), case.variables) == matches
    if prepared[0].key is not None:
        assert set(prepared[0].key.columns) <= {*case.query.partition_by}


@given(data=st.data())
def test_plans_that_follow_the_stream_find_the_same(data: st.DataObject) -> None:
    adapt = data.draw(st.sampled_from(["slices", *DECISIONS, Invariants(K=None, d="median")]))
    case = data.draw(cases(windows=CASES["windows"], strategies=CASES["strategies"][:1]))
    assume(not has_next(case.query.structure))  # which counts events
    batches, lateness = arrivals(data, case.events)
    stream = stream_of(as_table(case.events), SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorded = ck.events(as_table(case.events), time="ts", type="kind")
        known = estimate(recorded.columns(attributes_read(case.query)), case.query)
        plan = choose_plan(case.query, known, "greedy")
        if adapt != "slices":
            planner = data.draw(st.sampled_from(["greedy", "zstream"]))
            adapt = Adaptation(adapt, planner, history=data.draw(st.integers(1, 3)))
        plans = slice_plans(adapt, case.query, plan, "every", lambda: known)
        prepared = alone(stream, case.query, plan, follow=lambda *_: plans)
    run = Run([prepared.bucket], lateness=lateness)
    timely, _ = fed(run, batches)
    assert result_of(run.rows("match"), case.variables) == judged(run, timely, case.query)
    assert run.plans or not run.rows("match")
    assert run.survivors == len(run.rows("match"))


@given(data=st.data())
def test_windows_in_events_count_events_in_order_of_time(data: st.DataObject) -> None:
    case = data.draw(cases(windows=COUNTING, max_events=24))
    batches, lateness = arrivals(data, case.events)
    stream = stream_of(as_table(case.events), SCHEMA)
    chosen: list[Plan] = data.draw(st.lists(plans(case), min_size=1, max_size=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            prepared = [alone(stream, case.query, plan) for plan in chosen]
        except UnsupportedError:
            return  # of which the state has no bound, or the matches are certain at no time
    run = Run([one.bucket for one in prepared], lateness=lateness)
    timely, late = fed(run, batches)
    assert sorted(row["id"] for row in run.rows("late")) == late
    counted = prepared[0].bucket.searches[0].reach.counted is not None
    assert not counted or prepared[0].bucket.sending.types is None
    expected_matches = judged(run, timely, case.query, counted=counted)
    assert result_of(run.rows("match"), case.variables) == expected_matches


@pytest.mark.parametrize(("arrival", "matches"), [("x", [(0, 2)]), (None, [])])
def test_arrival_column_orders_events_of_one_time(arrival, matches):
    rows = [(0, "A", 1), (1, "X", 3), (1, "B", 2), (9, "X", 4)]
    events = [Event(ts * UNIT, kind, {"x": x}, n) for n, (ts, kind, x) in enumerate(rows)]
    query = parse("PATTERN SEQ(A a, B b) STRATEGY strict-contiguity")
    schema = Schema("ts", "kind", arrival=arrival)
    bucket = alone(stream_of(as_table(events), schema), query, as_plan(None, query)).bucket
    run = Run([bucket])
    run.step(as_table(events[:2]), 0)
    run.step(as_table(events[2:]), 0)
    run.step(as_table([]), 5 * UNIT)
    assert [(row["a"]["id"], row["b"]["id"]) for row in run.rows("match")] == matches


@given(data=st.data())
def test_slices_of_time_have_the_matches_of_one_bucket(data: st.DataObject) -> None:
    case = data.draw(cases(windows=CASES["windows"], strategies=CASES["strategies"][:1]))
    assume(not has_next(case.query.structure))  # which counts events
    batches, lateness = arrivals(data, case.events)
    stream = stream_of(as_table(case.events), SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = alone(stream, case.query, data.draw(plans(case)))
    buckets, seconds = data.draw(st.integers(1, 4)), data.draw(st.sampled_from((1, 3, 20)))
    bucket, _ = dealt_out(replace(one, key=None), buckets, seconds)
    run = SlicedRun([bucket], lateness=lateness)
    timely, late = fed(run, batches)
    assert sorted(row["id"] for row in run.rows("late")) == late
    matches = run.rows("match")
    assert result_of(matches, case.variables) == judged(run, timely, case.query)
    assert len(matches) == len(result_of(matches, case.variables))


@given(data=st.data())
def test_the_matches_of_several_queries_are_those_of_each(data: st.DataObject) -> None:
    case = data.draw(cases(windows=("time",)))
    drawn = {name: query for name, (query, _) in workload(data.draw, case).items()}
    queries = {name: query for name, query in drawn.items() if _can_be_live(query)}
    batches, lateness = arrivals(data, case.events)
    stream = stream_of(as_table(case.events), SCHEMA)
    share = data.draw(st.booleans())
    chosen = [
        [plan_of(data.draw, query) for query in queries.values()]
        for _ in range(data.draw(st.integers(1, 2)))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = [prepare(stream, queries, plans, share=share) for plans in chosen]
    run = Run([one.bucket for one in prepared], lateness=lateness)
    table = prepared[0].table
    timely, late = fed(run, batches)
    assert sorted(row["id"] for row in run.rows("late")) == late
    rows: dict[int, list[Any]] = {number: [] for number in range(len(queries))}
    for kind, batch in run.batches:
        for number, own in table.parted(batch) if kind == "match" else ():
            rows[number] += own.to_pylist()
    for number, query in enumerate(queries.values()):
        variables = tuple(event.variable for event in bound_events_of(query.structure))
        counted = reach_of(compile_query(query, as_plan(None, query))).counted is not None
        assert result_of(rows[number], variables) == judged(run, timely, query, counted=counted)


def _can_be_live(query: Query) -> bool:
    try:
        reach_of(compile_query(query, as_plan(None, query)))
    except UnsupportedError:
        return False
    return True


@given(data=st.data())
def test_timed_out_are_the_partial_matches_that_no_event_extends(data: st.DataObject) -> None:
    operators, change = data.draw(
        st.sampled_from(((("SEQ",), _flat), (("AND",), _flat), (("SEQ", "AND", "FIRST"), None)))
    )
    case = data.draw(
        cases(
            operators,
            max_variables=4,
            windows=CASES["windows"],
            strategies=CASES["strategies"][:1],
            max_events=16,
            change=change,
        )
    )
    try:
        timeout_queries(case.query)
    except UnsupportedError as refused:
        assert "which is not before it" in str(refused)
        return
    stream = stream_of(as_table(case.events), SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = as_plan(None, case.query)
        name = data.draw(st.sampled_from((ALONE, "one")))
        prepared = prepare(stream, {name: case.query}, [plan], timeouts=True)
    run = Run([prepared.bucket])
    events = sorted(case.events, key=lambda event: event.ts)
    half = events[len(events) // 2].ts if events else 0
    run.step(as_table([e for e in events if e.ts < half]), 0)
    last = max((event.ts for event in events), default=0)
    window = prepared.bucket.searches[0].reach.window
    run.step(as_table([e for e in events if e.ts >= half]), half)
    run.step(as_table([]), last + window + UNIT)
    names = [event.variable for event in events_of(case.query.structure)]
    expected: set[Any] = set()
    for k in range(1, len(names)):
        shorter, longer = (judge(events, _first(case.query, n)) for n in (k, k + 1))
        extended = {frozenset(p for p in match if p[0] != names[k]) for match in longer}
        expected |= shorter - extended
    assert result_of(run.rows("timed-out"), names) == expected
    assert result_of(run.rows("match"), names) == case.matches


def _flat(draw: st.DrawFn, query: Query) -> Query:
    """Return a query with one SEQ or AND of all its events, in a SEQ with some FIRST."""
    events = events_of(query.structure)
    if len(events) < 2:
        return query
    if isinstance(query.structure, nodes.And):
        return replace(query, structure=nodes.And(tuple(events)))
    items = [nodes.First(event) if draw(_RARELY) else event for event in events[1:]]
    return replace(query, structure=nodes.Seq((events[0], *items)))


_RARELY = st.sampled_from((False, False, True))


def _first(query: Query, n: int) -> Query:
    """Return the part of a query about its first variables alone."""
    variables = {event.variable for event in events_of(query.structure)[:n]}
    parts = tuple(p for p in c.conjuncts(query.where) if c.variables_of(p) <= variables)
    bounds = tuple(b for b in query.bounds if {b.first, b.last} <= variables)
    where = c.AllOf(parts) if parts else None
    structure = _of_those(query.structure, variables)
    return replace(query, structure=structure, where=where, bounds=bounds)


def _of_those(structure: nodes.Structure, known: set[str]) -> nodes.Structure:
    """Return the part of a structure about some variables; an AND of one item is the item."""
    if not isinstance(structure, nodes.Seq | nodes.And):
        return structure
    about = [s for s in structure.items if known & {event.variable for event in events_of(s)}]
    items = tuple(_of_those(item, known) for item in about)
    return type(structure)(items) if len(items) > 1 else items[0]


@given(case=SEQUENCES, data=st.data())
def test_aggregates_of_sequences_are_those_of_the_batch(case: Case, data: st.DataObject) -> None:
    check_aggregates(case, data, data.draw(st.sampled_from(["a-seq", "detect"])))


TIMED_OPTIONS: dict[str, Any] = {
    "max_variables": 4,
    "max_events": 20,
    "windows": CASES["windows"],
    "strategies": CASES["strategies"][:1],
    "budget": 10_000,
    "varying": AGGREGATED,
    "change": with_aggregates,
}
TIMED = cases(**TIMED_OPTIONS)


@given(case=TIMED, data=st.data())
def test_auto_aggregates_on_a_stream_equal_those_of_a_batch(
    case: Case, data: st.DataObject
) -> None:
    check_aggregates(case, data, "auto")


@given(case=cases(**TIMED_OPTIONS, ties="arrival"), data=st.data())
def test_aggregates_with_ties_by_arrival_are_those_of_the_batch(
    case: Case, data: st.DataObject
) -> None:
    schema = Schema("ts", "kind", arrival="id", ties="arrival")
    emit: Any = data.draw(st.sampled_from(["trigger", "changes", "new"]))
    alone = SharingPlan(("",), (), {})
    (rows,) = aggregated(case.events, [case.query], emit, alone, data, "detect", schema)
    assert rows == expected(case, emit)


def check_aggregates(case: Case, data: st.DataObject, method: str) -> None:
    """Check the rows of a bucket whose events come in any order, none of them late."""
    emit: Any = data.draw(st.sampled_from(["trigger", "changes", "new"]))
    (rows,) = aggregated(case.events, [case.query], emit, SharingPlan(("",), (), {}), data, method)
    assert rows == expected(case, emit)


def aggregated(
    events: Sequence[Any],
    queries: Sequence[Query],
    emit: Any,
    plan: SharingPlan,
    data: st.DataObject,
    method: str = "auto",
    schema: Schema = SCHEMA,
) -> list[Any]:
    """Return the rows of each query over a stream with a moving watermark."""
    stream = replace(stream_of(as_table(events), schema), lateness=Lateness(0))
    by_name = dict(zip(plan.names, queries, strict=True))
    functions = [functions_of(query, {}) for query in queries]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            live = prepare_aggregation(stream, by_name, functions, method, emit, plan)
        except UnsupportedError:
            reject()  # without a window in time
    batches, _ = arrivals(data, events, in_order=schema.arrival is None)
    run, until, ahead = (
        Run([live.bucket]),
        0,
        [e for batch_events, _ in batches for e in batch_events],
    )
    for rows, mark in batches:
        until = max(until, min([mark, *(event.ts for event in ahead)]))
        ahead = ahead[len(rows) :]
        run.step(as_table(rows), until)
    reaches = [search.reach for search in live.bucket.searches]
    longest = max(reach.window + reach.ahead for reach in reaches)
    run.step(as_table([]), until + 200 * UNIT + longest)
    found: list[Any] = [Counter() for _ in queries]
    for kind, batch in run.batches:
        assert kind == "row"
        for query, part in live.table.parted(batch):
            found[query] += rows_in(pa.Table.from_batches([part]), queries[query])
    return found


@given(workload=workloads(), data=st.data())
def test_the_aggregates_of_several_queries_are_those_of_each(
    workload: tuple[list[Query], Shared], data: st.DataObject
) -> None:
    queries = [query for query in workload[0] if query.window is not None]
    share: Any = data.draw(st.sampled_from(["prefix", "none"]))
    if len(queries) == len(workload[0]) and not isinstance(workload[1], str):
        share = workload[1]
    if not queries:
        return
    emit: Any = data.draw(st.sampled_from(["trigger", "changes", "new"]))
    events = data.draw(streams(30, types=("A", "B", "C", "X"), attributes=AGGREGATED_OF))
    functions = [functions_of(query, {}) for query in queries]
    sequences, reasons = shareable([way_of(query, "auto") for query in queries], functions, "auto")
    names = [f"pattern {number}" for number in range(len(queries))]
    plan = plan_sharing(names, sequences, functions, reasons, unknown_rates, share)
    recorded = ck.events(as_table(events), time="ts", type="kind")
    for query, rows in zip(queries, aggregated(events, queries, emit, plan, data), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = ck.aggregate(recorded, query, emit=emit)
        assert rows == rows_in(alone.to_arrow(), query), str(query)


AGGREGATED_OF = ("x", "y", "k", "z", "s")


def test_a_bucket_that_would_hold_too_much_is_refused() -> None:
    query = parse("PATTERN SEQ(A a, B b) WITHIN 5 s")
    table = as_table([Event(0, "A", {}, number) for number in range(100)])
    bucket = alone(stream_of(table, SCHEMA), query, as_plan(None, query)).bucket
    run = Run([bucket])
    held = run.step(table, 0)
    with pytest.raises(LimitError, match="a bucket would hold 100 events"):
        to_bytes(held, most=1_000)
    assert len(to_bytes(held)) < 100 * 100


def _bucket_of(events: Sequence[Event]) -> tuple[Run, pa.Table]:
    query = parse("PATTERN SEQ(A a, B b) WITHIN 5 s")
    table = as_table(events)
    bucket = alone(stream_of(table, SCHEMA), query, as_plan(None, query)).bucket
    return Run([bucket], lateness=0), table


def test_events_before_1971_are_not_late_without_a_known_watermark() -> None:
    second = 1_000_000
    events = [
        Event(t * second, kind, {}, i)
        for i, (t, kind) in enumerate(zip((-9, -8, 0, 1), "ABAB", strict=True))
    ]
    run, table = _bucket_of(events)
    assert run.step(table.slice(0, 0), None).complete is None
    run.step(table.slice(0, 2), None)
    run.step(table.slice(2), None)
    assert run.rows("late") == []
    assert [(row["a"]["id"], row["b"]["id"]) for row in run.rows("match")] == [(0, 1), (2, 3)]


def test_late_events_say_their_times_and_by_how_much_they_were_late() -> None:
    events = [Event(ts, "A", {}, i) for i, ts in enumerate((400, 700, 900, 1_200))]
    run, table = _bucket_of(events)
    said = dict(run.buckets[0].step(run.buckets[0].nothing(), table, 901))
    assert said["late"].num_rows == 3
    assert (said["late-first"], said["late-last"], said["late-by"]) == (400, 900, 501)
    assert "late" not in dict(run.buckets[0].step(run.buckets[0].nothing(), table, 901 - 501))
