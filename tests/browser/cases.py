"""Traces to play: the example of LAZY, a longer stream, and texts that try to break out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cepkit import simulate
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.stream.stream import events
from cepkit.tracing import CounterTrace, MechanismTrace
from tests.unit.aggregation.cases import stream

SCRIPT = "</script><script>window.broken = true</script><img src=x onerror='window.broken = true'>"
PATTERN = """PATTERN SEQ(A a, B b, C c)
WHERE a.price < b.price AND b.price < c.price
WITHIN 20 seconds"""
EXAMPLE = [("A", 3), ("A", 5), ("A", 8), ("B", 7), ("B", 13), ("C", 9)]


def stream_of(rows, seconds=None):
    frame = pd.DataFrame(rows, columns=["type", "price"])
    frame["ts"] = range(len(frame)) if seconds is None else seconds
    return events(frame, time="ts", type="type", unit="s")


def example() -> list[MechanismTrace]:
    """Two orders over SEQ(a, b, c) on the six events of LAZY's example."""
    stream = stream_of(EXAMPLE)
    return [simulate(stream, PATTERN, mechanism="chain-nfa", plan=list(p)) for p in ("cba", "abc")]


def long(count: int) -> list[MechanismTrace]:
    """The same orders over a random stream, as many events as asked for."""
    random = np.random.default_rng(5)
    types = random.choice(list("ABCX"), count, p=[0.4, 0.4, 0.1, 0.1])
    rows = list(zip(types.tolist(), random.integers(1, 99, count).tolist(), strict=True))
    stream = stream_of(rows, np.cumsum(random.integers(0, 4, count)))
    return [
        simulate(stream, PATTERN, mechanism="chain-nfa", plan=list(p), max_steps=20_000)
        for p in ("cba", "abc")
    ]


def repeated() -> MechanismTrace:
    """A group that repeats, over events that are stored until a C comes."""
    rows = [(kind, price) for price, kind in enumerate("ABABC")]
    pattern = "PATTERN SEQ(KL(SEQ(A a, B b)){1,2}, C c) WHERE a.price < b.price WITHIN 20 seconds"
    variables = ("c", "a[1]", "b[1]", "a[2]", "b[2]")
    plan = Plan((OrderPlan(variables[:3]), OrderPlan(variables)), "by hand")
    return simulate(stream_of(rows), pattern, plan=plan)


def wide_names() -> MechanismTrace:
    """Events of a type of wide letters, more than there is room for."""
    return simulate(stream_of([("MMMM", 1)] * 40), "PATTERN SEQ(MMMM a, MMMM b) WITHIN 2 s")


def rich() -> list[MechanismTrace]:
    """Every mechanism over a pattern with OR, KL and NOT."""
    random = np.random.default_rng(9)
    types = random.choice(list("ABCX"), 60, p=[0.3, 0.3, 0.2, 0.2]).tolist()
    prices = random.integers(1, 99, 60).tolist()
    stream = stream_of(list(zip(types, prices, strict=True)))
    pattern = """PATTERN OR(SEQ(A a, KL(B b), C c), SEQ(X x, NOT(A n), C d))
    WHERE b.price < 60 AND x.price < d.price
    WITHIN 8 seconds"""
    return [simulate(stream, pattern, mechanism=mechanism) for mechanism in MECHANISMS]


def shared() -> list[MechanismTrace]:
    """Two patterns that begin alike, of which one calls it otherwise: as orders, and as trees."""
    rows = [("A", 1), ("B", 2), ("C", 3), ("A", 2), ("B", 5), ("D", 9), ("C", 1), ("D", 2)]
    patterns = {
        "then C": "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price WITHIN 10 seconds",
        "then D": "PATTERN SEQ(A x, B y, D z) WHERE x.price < y.price WITHIN 20 seconds",
    }
    plan = [["a", "b", "c"], ["x", "y", "z"]]
    stream = stream_of(rows)
    return [simulate(stream, patterns, name, plan) for name in ("chain-nfa", "evaluation-tree")]


LONGER = [*EXAMPLE, ("C", 30), ("B", 11), ("A", 1), ("C", 20)]


def chains() -> list[MechanismTrace]:
    """Two orders of four events with long names: their loops have much to say."""
    pattern = """PATTERN SEQ(A alpha, B beta, C gamma, A delta)
    WHERE alpha.price < beta.price AND beta.price < gamma.price
    WITHIN 20 seconds"""
    orders = (["gamma", "beta", "alpha", "delta"], ["alpha", "beta", "gamma", "delta"])
    stream = stream_of(LONGER)
    return [simulate(stream, pattern, mechanism="chain-nfa", plan=order) for order in orders]


def tree_nfas() -> list[MechanismTrace]:
    """Tree NFAs, whose edges meet in their final states."""
    stream, pattern = stream_of(LONGER), PATTERN.replace("SEQ", "AND")
    return [simulate(stream, pattern, mechanism="tree-nfa") for _ in range(2)]


def empty() -> MechanismTrace:
    """A stream without events."""
    frame = pd.DataFrame({"ts": [0], "type": ["A"], "price": [1]})[:0]
    stream = events(frame, time="ts", type="type", unit="s")
    return simulate(stream, PATTERN, mechanism="chain-nfa", plan=["c", "b", "a"])


def counted(
    text: str, pattern: str, pieces: str | None = None, **columns: list[Any]
) -> CounterTrace:
    """Counters of a stream as the papers write it, of a sequence cut as "a b|c d"."""
    cut = None if pieces is None else [piece.split() for piece in pieces.split("|")]
    return simulate(stream(text, **columns), pattern, "prefix-counters", plan=cut)


def figure_6() -> CounterTrace:
    """ASEQ's figure 6: a row for each START, which expires."""
    pattern = "PATTERN SEQ(A a, B b, C c, D d) WITHIN 7 s EXCLUSIVE AGG COUNT"
    return counted("a1@1 b1@2 c1@3 a2@4 c2@5 b2@6 d1@7 c3@8 a3@9 d2@10", pattern)


def figure_7() -> CounterTrace:
    """ASEQ's figure 7: the negated event sets a count to 0."""
    pattern = "PATTERN SEQ(A a, B b, NOT(C c), D d) WITHIN 7 s EXCLUSIVE"
    return counted("a1@1 b1@2 c1@3 a2@4 b2@5 d1@6", pattern)


def figure_10() -> list[CounterTrace]:
    """ASEQ's figure 10: the sequence in one piece, and cut in two; an X does nothing."""
    text = "a1@1 b1@2 c1@3 x1@3 a2@4 b2@5 d1@6 c2@7 a3@8 d2@9 e1@10"
    pattern = "PATTERN SEQ(A a, B b, C c, D d, E e) WITHIN 9 s EXCLUSIVE"
    return [counted(text, pattern, pieces) for pieces in (None, "a b c|d e")]


def hostile() -> list[MechanismTrace]:
    """A type, a variable and values that are markup."""
    frame = pd.DataFrame({"ts": [0, 1], "type": [SCRIPT, "B"], "note": [SCRIPT, SCRIPT]})
    quoted = '"' + SCRIPT + '"'
    pattern = f"PATTERN SEQ({quoted} a, B {quoted}) WHERE a.note = {quoted}.note WITHIN 9 seconds"
    stream = events(frame, time="ts", type="type", unit="s")
    return [simulate(stream, pattern, mechanism="chain-nfa")]
