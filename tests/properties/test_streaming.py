"""A stream of which the watermark moves on has the judge's matches, however its events come."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cepkit.pattern.policies import Strategy
from cepkit.plan.nodes import Plan
from cepkit.spark.streaming.bucket import Bucket, Held
from cepkit.spark.streaming.prepare import prepare
from cepkit.spark.streaming.state import from_bytes, to_bytes
from cepkit.stream.schema import Schema
from tests.cells import stream_of
from tests.judge import judge
from tests.properties.test_engine import plans
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
        rows: What was told, by kind.
        most: The most events that were held.
    """

    buckets: Sequence[Bucket]
    rows: dict[str, list[Any]] = field(default_factory=dict)
    state: tuple[bytes, int | None] = (b"", None)
    steps: int = 0

    def step(self, new: pa.Table, until: int) -> Held:
        bucket = self.buckets[self.steps % len(self.buckets)]
        self.steps += 1
        working = bucket.step(from_bytes(bucket, *self.state), new, until)
        while True:
            try:
                kind, found = next(working)
            except StopIteration as end:
                held = end.value
                break
            if not isinstance(found, int):
                self.rows.setdefault(kind, []).extend(found.to_pylist())
        self.state = to_bytes(held), held.complete
        return held


def arrivals(data: st.DataObject, case: Case) -> list[tuple[list[Any], int]]:
    """Draw batches in which the events come, and what is complete before each; some are late."""
    events = list(case.events)
    if data.draw(st.booleans()):
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
    (search,) = prepared[0].bucket.searches
    timely, late, numbered = [], [], {}
    for events, until in batches:
        for event in events:
            (late if event.ts < until else timely).append(event)
            numbered[event.arrival] = len(numbered)
        rows = as_table(sorted(events, key=lambda event: numbered[event.arrival]))
        order = np.argsort([numbered[number] for number in rows.column("id").to_pylist()])
        held = run.step(rows.take(pa.array(order, pa.int64())), until)
        times = held.events.column("ts").cast(pa.int64()).to_numpy()
        assert (times >= until - search.window - search.ahead).all()
    everything = max((event.ts for event in case.events), default=0) + search.ahead + UNIT
    run.step(as_table([]), everything)
    assert sorted(row["id"] for row in run.rows.get("late", ())) == sorted(e.arrival for e in late)
    found = result_of(run.rows.get("match", ()), case.variables)
    back = {number: arrival for arrival, number in numbered.items()}
    renumbered = [
        type(event)(event.ts, event.type, event.attributes, numbered[event.arrival])
        for event in timely
    ]
    expected = {
        frozenset(
            (v, back[n] if isinstance(n, int) else tuple(sorted(back[one] for one in n)))
            for v, n in match
        )
        for match in judge(renumbered, case.query, budget=None)
    }
    assert found == expected
