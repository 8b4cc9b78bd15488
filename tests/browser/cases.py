"""Traces to play: the example of LAZY, a longer stream, and texts that want to break out."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cepkit.api import simulate
from cepkit.automata import MECHANISMS
from cepkit.automata.trace import Trace
from cepkit.stream.stream import events

SCRIPT = "</script><script>window.broken = true</script><img src=x onerror='window.broken = true'>"
PATTERN = """PATTERN SEQ(A a, B b, C c)
WHERE a.price < b.price AND b.price < c.price
WITHIN 20 seconds"""
EXAMPLE = [("A", 3), ("A", 5), ("A", 8), ("B", 7), ("B", 13), ("C", 9)]


def stream_of(rows, seconds=None):
    frame = pd.DataFrame(rows, columns=["type", "price"])
    frame["ts"] = range(len(frame)) if seconds is None else seconds
    return events(frame, time="ts", type="type", unit="s")


def example() -> list[Trace]:
    """Two orders over SEQ(a, b, c) on the six events of LAZY's example."""
    stream = stream_of(EXAMPLE)
    return [simulate(stream, PATTERN, mechanism="chain-nfa", plan=list(p)) for p in ("cba", "abc")]


def long(count: int) -> list[Trace]:
    """The same orders over a random stream, as many events as asked for."""
    random = np.random.default_rng(5)
    types = random.choice(list("ABCX"), count, p=[0.4, 0.4, 0.1, 0.1])
    rows = list(zip(types.tolist(), random.integers(1, 99, count).tolist(), strict=True))
    stream = stream_of(rows, np.cumsum(random.integers(0, 4, count)))
    return [
        simulate(stream, PATTERN, mechanism="chain-nfa", plan=list(p), max_steps=20_000)
        for p in ("cba", "abc")
    ]


def rich() -> list[Trace]:
    """Every mechanism over a pattern with OR, KL and NOT."""
    random = np.random.default_rng(9)
    types = random.choice(list("ABCX"), 60, p=[0.3, 0.3, 0.2, 0.2]).tolist()
    prices = random.integers(1, 99, 60).tolist()
    stream = stream_of(list(zip(types, prices, strict=True)))
    pattern = """PATTERN OR(SEQ(A a, KL(B b), C c), SEQ(X x, NOT(A n), C d))
    WHERE b.price < 60 AND x.price < d.price
    WITHIN 8 seconds"""
    return [simulate(stream, pattern, mechanism=mechanism) for mechanism in MECHANISMS]


def empty() -> Trace:
    """A stream without events."""
    frame = pd.DataFrame({"ts": [0], "type": ["A"], "price": [1]})[:0]
    stream = events(frame, time="ts", type="type", unit="s")
    return simulate(stream, PATTERN, mechanism="chain-nfa", plan=["c", "b", "a"])


def hostile() -> list[Trace]:
    """A type, a variable and values that are markup."""
    frame = pd.DataFrame({"ts": [0, 1], "type": [SCRIPT, "B"], "note": [SCRIPT, SCRIPT]})
    quoted = '"' + SCRIPT + '"'
    pattern = f"PATTERN SEQ({quoted} a, B {quoted}) WHERE a.note = {quoted}.note WITHIN 9 seconds"
    stream = events(frame, time="ts", type="type", unit="s")
    return [simulate(stream, pattern, mechanism="chain-nfa")]
