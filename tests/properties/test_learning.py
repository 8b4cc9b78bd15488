"""Scores of proposals are those of their definition, on the events after the split."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import cepkit as ck

WITHIN = 30


@st.composite
def streams(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame, str | None]:
    """Draw a stream in which some incidents follow a pattern."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    keys = draw(st.integers(1, 3))
    size = draw(st.integers(40, 200))
    shape = draw(st.sampled_from(("A", "AB", "BA", "AxB", "A-")))
    rows = [
        (int(t), str(k), int(m), int(x))
        for t, k, m, x in zip(
            rng.integers(0, size * 20, size),
            rng.choice(list("CDAB"), size, p=[0.4, 0.3, 0.15, 0.15]),
            rng.integers(0, keys, size),
            rng.integers(0, 9, size),
            strict=True,
        )
    ]
    incidents = []
    for at in range(50, size * 20, 150):
        m = int(rng.integers(0, keys))
        letters = shape.replace("x", "").replace("-", "")
        rows += [(at + 5 * i, k, m, 8) for i, k in enumerate(letters)]
        if rng.random() < 0.8:
            incidents.append((at + 10 + int(rng.integers(0, 25)), m))
    frame = pd.DataFrame(rows, columns=["t", "type", "m", "x"]).sort_values("t")
    labels = pd.DataFrame(incidents, columns=["time", "m"])
    return frame.reset_index(drop=True), labels, "m" if draw(st.booleans()) else None


def judged(text: str, frame: pd.DataFrame, labels: pd.DataFrame, by: str | None, split: float):
    """Return hits, misses, alarms and false ones, from the matches one by one."""
    late = frame[frame["t"] >= split]
    labels = labels[labels["time"] >= split]
    query = ck.parse(text)
    matches = ck.detect(ck.events(late, time="t", type="type", unit="s"), query).to_pandas()
    ends = matches["match_end"]
    items = text.partition("\n")[0].split(", ")
    if items[-1].startswith("NOT("):  # its alarm is at the end of the window
        ends = matches["match_start"] + query.window.microseconds / 1e6
    alarms = {(end, matches["a.m"].iloc[i] if by else None) for i, end in enumerate(ends)}
    hit, false = set(), 0
    for end, key in alarms:
        near = [
            i
            for i, (time, m) in enumerate(zip(labels["time"], labels["m"], strict=True))
            if end <= time <= end + WITHIN and (by is None or m == key)
        ]
        hit |= {*near}
        false += not near
    return len(hit), len(labels) - len(hit), len(alarms), false


@given(streams())
@settings(max_examples=15, deadline=None)
def test_scores_are_those_of_the_matches_after_the_split(drawn):
    frame, labels, by = drawn
    if len(labels) < 6:
        return
    stream = ck.events(frame, time="t", type="type", unit="s")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = ck.learn(stream, labels, within=f"{WITHIN} seconds", by=by, progress=False)
        split = learned.split.timestamp()
        days = (frame["t"].max() - frame.loc[frame["t"] >= split, "t"].min()) / 86_400
        for proposal in learned.proposals:
            assert ck.parse(proposal.text) == proposal.pattern
            hits, misses, alarms, false = judged(proposal.text, frame, labels, by, split)
            assert (proposal.support, proposal.row.misses) == (hits, misses)
            assert (proposal.row.matches, proposal.row.false_alarms) == (alarms, false)
            assert proposal.precision == 1 - false / alarms
            assert proposal.recall == hits / (hits + misses)
            assert np.isclose(proposal.false_alarms_per_day, false / max(days, 1e-6 / 86_400))
