"""Curves of one detection have the counts of a detection for each value."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.pattern.printer import expression_text
from tests.strategies import Case, as_table, cases

CASES = cases(("SEQ", "AND", "OR", "NOT", "KL", "NEXT", "OPT"), max_variables=4, unsorted=True)
CONDITIONS = ("{a}.x {sign} $k", "{a}.x + {b}.x {sign} $k", "$k {sign} {a}.x - {b}.x",
              "{a}.ts - {b}.ts {sign} $k seconds", "{a}.y {sign} $k")  # fmt: skip


@st.composite
def curves(draw: st.DrawFn) -> tuple[Case, str]:
    """Draw a stream, and a pattern with one condition with a parameter."""
    case = draw(CASES)
    names = st.sampled_from(case.variables)
    sign = draw(st.sampled_from(("<", "<=", ">", ">=")))
    condition = draw(st.sampled_from(CONDITIONS)).format(a=draw(names), b=draw(names), sign=sign)
    own, plain = case.query.where, str(replace(case.query, where=None))
    where = condition if own is None else f"{condition} AND ({expression_text(own)})"
    first, *rest = plain.splitlines()
    return case, "\n".join([first, f"WHERE {where}", *rest])


@given(curves(), st.lists(st.integers(-2, 4), min_size=1, max_size=4, unique=True))
def test_curve_has_the_counts_of_single_detections(drawn, values):
    case, text = drawn
    stream = ck.events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        try:
            query = ck.parse(text)
        except ck.CepkitError:
            return
        curve = ck.calibrate(stream, query, k=values)
        for row in curve.rows:
            assert row.matches == ck.detect(stream, query.bind(k=row.values[0])).count()


@given(
    st.lists(st.integers(0, 30), max_size=25),
    st.lists(st.integers(0, 30), max_size=6),
    st.integers(0, 5),
    st.integers(0, 2),
)
def test_hits_and_false_alarms_are_those_of_their_definition(times, labels, tolerance, keys):
    rng = np.random.default_rng(len(times))
    frame = pd.DataFrame({"t": times, "x": rng.integers(0, 5, len(times)), "type": "A"})
    frame["key"] = frame["x"] % (keys + 1)
    frame = pd.concat([frame, pd.DataFrame([{"t": 99, "x": 0, "type": "B", "key": 0}])])
    incidents = pd.DataFrame({"time": labels, "key": [t % (keys + 1) for t in labels]})
    stream = ck.events(frame, time="t", type="type", unit="s")
    by = "key" if keys else None
    options = {"labels": incidents, "tolerance": f"{tolerance} seconds", "by": by}
    for pattern in ("PATTERN A a WHERE a.x >= $k", "PATTERN A a WHERE a.x >= $k OR a.x > $k + 9"):
        curve = ck.calibrate(stream, pattern, k=[0, 2, 3], **options)
        for row in curve.rows:
            found = frame[(frame["type"] == "A") & (frame["x"] >= row.values[0])]
            near = [
                [
                    abs(m.t - i.time) <= tolerance and (by is None or m.key == i.key)
                    for i in incidents.itertuples()
                ]
                for m in found.itertuples()
            ]
            table = np.array(near, bool).reshape(len(found), len(incidents))
            assert row.matches == len(found)
            assert row.hits == int(table.any(axis=0).sum())
            assert row.misses == len(incidents) - row.hits
            assert row.false_alarms == int((~table.any(axis=1)).sum())
