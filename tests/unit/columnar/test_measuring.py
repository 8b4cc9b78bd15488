"""Plans that are run, beside their expected costs."""

import pytest

import cepkit as ck
from cepkit.columnar.results.measuring import output_profile, run_plans
from cepkit.errors import PlanError, StreamError

TEXT = """PATTERN SEQ(MSFT a, GOOG b, AAPL c)
          WHERE a.price < b.price AND b.price < c.price WITHIN 2 minutes"""


@pytest.fixture(scope="module")
def stream():
    return ck.events(ck.sample_stocks(20_000), time="ts", type="ticker")


@pytest.fixture(scope="module")
def statistics(stream):
    return ck.profile(stream, TEXT)


def test_each_plan_is_run_over_the_beginning(stream, statistics):
    found = ck.compare_plans(TEXT, statistics, run=True, stream=stream, events=5000)
    matches = {row.measured.matches for row in found.rows}
    assert matches == {ck.detect(stream.head(5000), TEXT, ["a", "b", "c"]).count()}
    for row in found.rows:
        done = row.measured
        assert done.events == 5000
        assert done.candidates >= done.matches
        assert done.partial_matches >= done.matches
        assert done.peak_rows > 0
        assert done.seconds > 0
        steps = ck.detect(stream.head(5000), TEXT, row.plan).explain().steps
        assert done.candidates == sum(step.candidates for step in steps)
    assert found.notes == ("measured on the first 5,000 events",)
    assert "run ms" in str(found)
    assert "run_seconds" in found.to_pandas().columns


def test_plan_expected_to_take_too_long_is_not_run(stream, statistics):
    comparison = ck.compare_plans(TEXT, statistics, ["greedy"])
    (row,) = run_plans(comparison, stream.head(100), most_work=0.5).rows
    assert row.measured is None
    assert row.not_run.startswith("not run: ")
    assert row.not_run.endswith(" candidates expected")


def test_running_needs_a_stream(statistics):
    with pytest.raises(StreamError, match=r"run=True without a stream(.|\n)*stream=stream"):
        ck.compare_plans(TEXT, statistics, run=True)
    with pytest.raises(PlanError, match=r"no cost model 'wrok'(.|\n)*did you mean 'work'"):
        ck.compare_plans(TEXT, statistics, cost="wrok")


def test_output_profile_counts_the_last_event_of_matches(stream):
    text = "PATTERN AND(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 seconds"
    matches = ck.detect(stream, text, ["a", "b"])
    frame = matches.to_pandas()
    later = (frame["a.ts"] > frame["b.ts"]).sum()
    equal = (frame["a.ts"] == frame["b.ts"]).sum()
    found = output_profile(matches)
    assert found.last["a"] == later + equal / 2
    assert found.last["a"] + found.last["b"] == len(frame)
    weighed = ck.compare_plans(text, ck.profile(stream, text), alphas="auto", matches=matches)
    assert len(weighed.rows) == 18


def test_output_profile_without_matches_is_empty(stream):
    text = "PATTERN AND(MSFT a, GOOG b) WHERE a.price < 0 WITHIN 5 seconds"
    assert dict(output_profile(ck.detect(stream, text, ["a", "b"])).last) == {}


def test_what_if_of_a_comparison_has_a_curve_for_each_plan(statistics):
    comparison = ck.compare_plans(TEXT, statistics)
    found = ck.what_if(TEXT, statistics, comparison, "c")
    assert len(found.curves) == len({row.plan.branches for row in comparison.rows})
