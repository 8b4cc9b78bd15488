"""The contract of mechanisms; its tests run for every entry of the shelf."""

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.automata.simulation import follow, machine_for
from cepkit.automata.subject import attributes_read
from cepkit.tracing.operations import Match

MECHANISM = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=list(MECHANISMS))
PATTERNS = {
    "seq": "PATTERN SEQ(A a, B b, C c) WHERE a.p < b.p AND b.p < c.p {window}",
    "and": "PATTERN AND(A a, B b, C c) WHERE a.p < b.p AND b.p < c.p {window}",
    "not": "PATTERN SEQ(A a, NOT(B b), C c) WHERE b.p > a.p {window}",
    "trailing not": "PATTERN SEQ(A a, C c, NOT(B b)) WHERE b.p > a.p {window}",
    "set": "PATTERN SEQ(A a, KL(B b){{1,2}}, C c) WHERE avg(b.p) < a.p {window}",
    "or": "PATTERN SEQ(A a, OR(B b, C c)) WHERE a.p < 0.2 {window}",
    "partition": "PATTERN SEQ(ANY a, ANY b) WHERE a.p < b.p {window} PARTITION BY k",
}


def stream(count):
    random = np.random.default_rng(7)
    return ck.events(
        pd.DataFrame(
            {
                "time": np.cumsum(random.integers(0, 3, count)),
                "type": random.choice(list("ABCX"), count),
                "p": random.random(count),
                "k": random.integers(0, 5, count),
                "id": range(count),
            }
        ),
        time="time",
        type="type",
        unit="s",
    )


def numbers(frame, variables):
    """The events of each match, by number; the members of sets in order."""

    def of(bound):
        if bound is None:
            return ()
        return tuple(e["id"] for e in bound) if isinstance(bound, list) else (bound["id"],)

    rows = zip(*(frame[variable] for variable in variables), strict=True)
    return sorted(tuple(map(of, row)) for row in rows)


@MECHANISM
@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("window", ["WITHIN 12 seconds", "WITHIN 10 EVENTS EXCLUSIVE"])
def test_mechanism_finds_the_matches_of_the_engine(mechanism, name, window):
    events, pattern = stream(400), PATTERNS[name].format(window=window)
    trace = ck.simulate(events, pattern, mechanism.name, max_steps=20_000)
    assert trace.truncated is None
    found = numbers(trace.matches_frame(), trace.variables)
    frame = ck.detect(events, pattern).to_pandas(nested=True)
    assert found == numbers(frame, trace.variables)
    assert found


@MECHANISM
def test_feed_returns_the_operations_that_each_event_causes(mechanism):
    events, query = stream(200), ck.parse(PATTERNS["trailing not"].format(window="WITHIN 12 s"))
    columns = events.columns(attributes_read(query))
    machine, each = machine_for(mechanism, columns, query, follow(mechanism, None, query))
    caused = [operation for event in each for operation in machine.feed(event)]
    caused += machine.finish()
    matches = [operation for operation in caused if isinstance(operation, Match)]
    assert len(matches) == machine.journal.matches == ck.detect(events, query).count()
    assert machine.journal.instances == machine.journal.stored == 0


@MECHANISM
@pytest.mark.parametrize("name", PATTERNS)
def test_memory_is_that_of_a_window(mechanism, name):
    """A stream of ten times the length needs hardly more, for no window holds more events."""
    pattern = PATTERNS[name].format(window="WITHIN 12 EVENTS")
    short, long = (
        ck.simulate(stream(n), pattern, mechanism.name, max_steps=1) for n in (100, 1000)
    )
    assert long.totals.peak_stored <= 4 * 12 * 5
    assert long.totals.peak_instances <= 4 * short.totals.peak_instances
