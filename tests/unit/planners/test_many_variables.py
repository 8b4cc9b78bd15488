"""Patterns of more variables than 64 bits can mask."""

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import LimitError

PATTERN = f"PATTERN SEQ({', '.join(f'A v{i}' for i in range(70))})"


def test_a_plan_to_run_is_found_and_searches_say_why_they_refuse():
    frame = pd.DataFrame({"ts": range(72), "kind": "A"})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    assert ck.detect(stream, PATTERN).count() == 72 * 71 // 2
    statistics = ck.profile(stream, PATTERN)
    with pytest.raises(LimitError, match="ii-greedy for 70 variables"):
        ck.choose_plan(PATTERN, statistics, "ii-greedy")
