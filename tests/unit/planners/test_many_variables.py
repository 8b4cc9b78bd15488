"""Patterns of more variables than 64 bits can mask."""

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import LimitError

VARIABLES = range(70)
PATTERN = f"PATTERN SEQ({', '.join(f'T{i} v{i}' for i in VARIABLES)})"


def test_a_plan_to_run_is_found_and_searches_say_why_they_refuse():
    # A type for each event: were all alike, partial matches would grow without end.
    kinds = [f"T{i}" for i in VARIABLES]
    frame = pd.DataFrame({"ts": range(71), "kind": [*kinds, "T69"]})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    assert ck.detect(stream, PATTERN).count() == 2
    statistics = ck.profile(stream, PATTERN)
    with pytest.raises(LimitError, match="ii-greedy for 70 variables"):
        ck.choose_plan(PATTERN, statistics, "ii-greedy")
