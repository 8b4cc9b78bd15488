"""The texts on Flink's phrases find what a machine that reads event by event finds."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck

PAGE = Path(__file__).parents[2] / "docs" / "coming-from" / "flink.md"
EVENTS = st.lists(st.tuples(st.sampled_from("ABBCXD"), st.integers(1, 12)), min_size=2, max_size=9)


def first(events, kind, after, holds=lambda price: True):
    """Return the first event of a type behind another that fulfils a condition."""
    places = range(after + 1, len(events))
    return next((i for i in places if events[i][0] == kind and holds(events[i][1])), None)


def loops(events, start):
    """Yield each prefix of a relaxed loop over B that begins at an event."""
    members = []
    while start is not None:
        members.append(start)
        yield members
        start = first(events, "B", start)


def types(events, begin, end):
    return [kind for kind, _ in events[begin + 1 : end]]


def not_behind_a_loop(events, a):
    for b in (i for i in range(a + 1, len(events)) if events[i][0] == "B"):
        for members in loops(events, b):
            c = first(events, "C", members[-1])
            if c is not None and "X" not in types(events, b, c):
                yield c


def until_behind_any(events, a):
    for b in (i for i in range(a + 1, len(events)) if events[i][0] == "B"):
        yield from (m for m in loops(events, b) if "X" not in types(events, b, m[-1]))


def greedy_at_the_end(events, a):
    yield from loops(events, first(events, "B", a))


def not_before_an_option(events, a):
    b, c = first(events, "B", a), first(events, "C", a)
    if b is not None and "X" not in types(events, a, b):
        yield from filter(None, [first(events, "C", b)])
    yield from filter(None, [c])


def sum_over_an_option(events, a):
    yield from filter(None, [first(events, "C", a, lambda price: 0 + price > 10)])
    for members in loops(events, first(events, "B", a)):
        total = sum(events[i][1] for i in members)
        enough = first(events, "C", members[-1], lambda price, total=total: total + price > 10)
        yield from filter(None, [enough])


MACHINES = {
    'oneOrMore().notFollowedBy("x")': not_behind_a_loop,
    "oneOrMore().greedy()` at the end": greedy_at_the_end,
    "until counts from the first member": until_behind_any,
    "without b it forbids nothing": not_before_an_option,
    "without b the sum is that of c": sum_over_an_option,
}


@pytest.mark.parametrize("phrase", MACHINES)
@given(events=EVENTS)
@pytest.mark.filterwarnings("ignore:no event has the type")
def test_text_and_machine_find_the_same(phrase, events):
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if phrase in line]
    text = re.search(r"`(PATTERN [^`]*)`", rows[0])[1].replace(" PARTITION BY account", "")
    starts = [i for i, (kind, _) in enumerate(events) if kind == "A"]
    expected = sum(len(list(MACHINES[phrase](events, a))) for a in starts)
    frame = pd.DataFrame(events, columns=["kind", "price"]).assign(t=range(len(events)))
    stream = ck.events(frame, time="t", type="kind", unit="s")
    assert ck.detect(stream, text).count() == expected
