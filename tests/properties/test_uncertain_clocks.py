"""Certain and possible matches are those of all, and of some, true times: each of them is tried."""

from datetime import UTC, datetime, timedelta
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from tests.judge import Event, judge

PATTERNS = [
    "SEQ(A a, B b)",
    "AND(A a, A b)",
    "SEQ(A a, B b, A c)",
    "SEQ(A a, AND(A b, B c))",
    "SEQ(A a, OR(B b, C c))",
    "SEQ(A a, OPT(B b), C c)",
    "SEQ(A a, NOT(B x), A b)",
    "SEQ(A a, NOT(C x), B b)",
    "SEQ(A a, NOT(C x), B b, NOT(A y), C c)",
    "SEQ(NOT(B x), A a)",
    "SEQ(A a, NOT(B x))",
    "AND(A a, NOT(B x))",
    "AND(A a, B b, NOT(C x))",
    "SEQ(A a, AND(B b, NOT(C x)), A c)",
    "SEQ(A a, NOT(A x), A b)",
    "SEQ(A a, OR(SEQ(NOT(C x), B b), C c))",
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BOUNDS = {"b)": " WITHIN 1 us FROM a TO b", "x)": " WITHIN 2 us EXCLUSIVE FROM a TO x"}

CONDITIONS = [
    ("b)", "b.t - a.t <= 2 us"),
    ("b)", "b.t > a.t + 1 us"),
    ("b)", "a.t - 1 us = b.t - 2 us"),
    ("b)", "3 us > b.t - a.t"),
    ("x)", "x.t - a.t < 2 us"),
    ("x)", "x.t - a.t - 1 us >= -(1 us) AND x.t - a.t <= 3 us"),
    ("c)", "c.t - a.t > 1 us"),
]
"""Conditions on times, by a variable that they need besides `a`."""


@st.composite
def cases(draw):
    structure = draw(st.sampled_from(PATTERNS))
    window = draw(st.sampled_from(["1 us", "2 us", "3 us EXCLUSIVE", "5 us", ""]))
    own = [bound for end, bound in BOUNDS.items() if f" {end}" in structure]
    bound = draw(st.sampled_from(["", *own]))
    if structure.startswith("SEQ(NOT(B x)"):
        bound = bound.replace("a TO x", "x TO a")
    where = draw(st.sampled_from(["", " WHERE a.k = 0"]))
    if " x)" in structure:
        where += draw(st.sampled_from(["", " AND x.k = a.k" if where else " WHERE x.k = a.k"]))
    timed = ["", *(c for end, c in CONDITIONS if f" {end}" in structure)]
    condition = draw(st.sampled_from(timed))
    where += (" AND " if where else " WHERE ") + condition if condition else ""
    text = f"PATTERN {structure}{where}{f' WITHIN {window}' if window else ''}{bound}"
    size = draw(st.integers(1, 5))
    rows = [
        {
            "i": number,
            "t": draw(st.integers(0, 6)),
            "type": draw(st.sampled_from("AABBC")),
            "k": draw(st.integers(0, 1)),
            "e": draw(st.integers(0, 2)),
        }
        for number in range(size)
    ]
    return text, rows


def judged(query, rows, errors):
    """Return the matches of all true times, and those of some."""
    certain, possible = None, set()
    pairs = zip(rows, errors, strict=True)
    moves = [range(row["t"] - error, row["t"] + error + 1) for row, error in pairs]
    for times in product(*moves):
        stream = [
            Event(
                time,
                row["type"],
                {"k": row["k"], "t": EPOCH + timedelta(microseconds=time)},
                row["i"],
            )
            for time, row in zip(times, rows, strict=True)
        ]
        matches = judge(stream, query)
        certain = matches if certain is None else certain & matches
        possible |= matches
    return certain, possible


@given(cases(), st.sampled_from(["e", 1, 2, 0]))
def test_matches_are_those_of_true_times(case, error):
    text, rows = case
    query = ck.parse(text)
    errors = [row["e"] if error == "e" else error for row in rows]
    certain, possible = judged(query, rows, errors)
    stream = ck.events(rows, time="t", type="type", unit="us")
    matches = ck.detect(stream, query, clock_error="e" if error == "e" else f"{error} us")
    assert identities(matches, "certain") == sorted(map(sorted, certain))
    assert identities(matches, "possible") == sorted(map(sorted, possible - certain))
    assert matches.counts().to_dict() == {
        "certain": len(certain), "possible": len(possible - certain)
    }  # fmt: skip


def identities(matches, certainty):
    return sorted(
        sorted((v, row[v]["i"]) for v in matches.variables if row[v] is not None)
        for row in matches.to_arrow().to_pylist()
        if row["certainty"] == certainty
    )
