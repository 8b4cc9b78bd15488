"""Old names of the front door still work, with a warning that says what to write."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import cepkit as ck
from cepkit.api.spark_options import OLD_ARGUMENTS
from cepkit.deprecated import OLD_NAMES
from cepkit.errors import StreamError, UnsupportedError
from cepkit.tracing import Trace


def warned(action):
    """Return what an action returns, and its warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        result = action()
    (warning,) = caught
    assert warning.category is DeprecationWarning
    assert warning.filename == __file__, "a notebook shows a warning only if it is of its own line"
    return result, str(warning.message)


@pytest.mark.parametrize("name", OLD_NAMES)
def test_old_name_warns_and_is_in_no_list(name):
    _, message = warned(lambda: getattr(ck, name))
    assert message.startswith(f"cepkit.{name} is an old name: write {OLD_NAMES[name][0]}")
    assert name not in dir(ck)
    assert name not in ck.__all__


def test_old_name_imported_by_name_warns():
    with pytest.warns(DeprecationWarning, match="write stream.replay"):
        from cepkit import replay  # noqa: F401


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'share_plan'"):
        _ = ck.share_plan


def test_replay_is_a_method_of_a_stream(tmp_path):
    stream = ck.events(ck.sample_stocks(50), time="ts", type="ticker")
    replay, _ = warned(lambda: ck.replay)
    assert (
        replay(stream, tmp_path / "in", speed=10).files
        == stream.replay(tmp_path / "other", speed=10).files
    )


PATTERN = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
OTHER = "PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 seconds"
STATISTICS = ck.Statistics.assumed({"a": 10, "b": 10, "c": 0.1, "d": 1}, {("a", "b"): 0.1})


def test_share_plans_is_choose_plan_of_several():
    share_plans, _ = warned(lambda: ck.share_plans)
    shared = share_plans([PATTERN, OTHER], STATISTICS, "prefix", search="own-plans", cost="latency")
    assert shared == ck.choose_plan(
        [PATTERN, OTHER], STATISTICS, "own-plans", share="prefix", cost="latency"
    )
    assert share_plans([PATTERN, OTHER], STATISTICS) == ck.choose_plan([PATTERN, OTHER], STATISTICS)


def test_compare_shared_plans_is_compare_plans_of_several():
    compare_shared_plans, _ = warned(lambda: ck.compare_shared_plans)
    old = compare_shared_plans([PATTERN, OTHER], STATISTICS, searches=["own-plans"], share="tree")
    new = ck.compare_plans([PATTERN, OTHER], STATISTICS, ["own-plans"], share="tree")
    assert [row.cost for row in old.rows] == [row.cost for row in new.rows]
    assert [row.share for row in old.rows] == ["tree"]


def test_weigh_plans_is_compare_plans_with_alphas():
    weigh_plans, _ = warned(lambda: ck.weigh_plans)
    assert weigh_plans(PATTERN, STATISTICS) == ck.compare_plans(PATTERN, STATISTICS, alphas="auto")
    few = weigh_plans(PATTERN, STATISTICS, ["greedy"], alphas=[0, 3])
    assert few == ck.compare_plans(PATTERN, STATISTICS, ["greedy"], alphas=[0, 3])


def test_pattern_graph_stands_in_sharing():
    pattern_graph, _ = warned(lambda: ck.pattern_graph)
    assert pattern_graph([PATTERN, OTHER]) == ck.sharing.pattern_graph([PATTERN, OTHER])


def test_aggregate_trace_is_simulate_with_prefix_counters():
    aggregate_trace, _ = warned(lambda: ck.aggregate_trace)
    stream = ck.events(ck.sample_stocks(50), time="ts", type="ticker")
    text, pieces = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute", [["a"], ["b"]]
    old = aggregate_trace(stream, text, pieces=pieces, limit=20)
    assert old == ck.simulate(stream, text, "prefix-counters", pieces, limit=20)


def test_check_detectable_is_a_method_of_a_query():
    check_detectable, _ = warned(lambda: ck.check_detectable)
    stream = ck.events(ck.sample_stocks(50), time="ts", type="ticker")
    assert check_detectable(stream, "PATTERN SEQ(MSFT a, GOOG b)") is None
    with pytest.raises(UnsupportedError, match="AGG asks for aggregates"):
        check_detectable(stream, "PATTERN SEQ(MSFT a, GOOG b) AGG COUNT")
    with pytest.raises(StreamError, match="a int instead of a stream"):
        check_detectable(3, "PATTERN SEQ(MSFT a, GOOG b)")


def test_trace_stands_in_tracing():
    assert warned(lambda: ck.Trace)[0] is Trace


@pytest.fixture
def stream():
    return ck.events(ck.sample_stocks(50), time="ts", type="ticker")


def test_old_argument_of_detect_warns_with_the_options_to_write(stream):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        with pytest.raises(StreamError, match="buckets= of SparkOptions with events in"):
            ck.detect(stream, "PATTERN SEQ(MSFT a, GOOG b)", late="collect", buckets=4)
    (warning,) = caught
    assert str(warning.message).startswith(
        "buckets=, late= of cepkit.detect: write spark=ck.SparkOptions(buckets=4, late='collect')"
    )
    assert warning.filename == __file__


@pytest.mark.parametrize("option", OLD_ARGUMENTS)
def test_each_old_argument_of_detect_is_an_option_of_spark(stream, option):
    value = {"route": "auto", "late": "count", "timeouts": False, "buckets": None}.get(option, 5)
    matches, message = warned(lambda: ck.detect(stream, PAIR, **{option: value}))
    assert message.startswith(f"{option}= of cepkit.detect: write spark=ck.SparkOptions({option}=")
    assert matches.count() == ck.detect(stream, PAIR).count()


def test_old_slices_of_aggregate_have_no_effect_in_this_process(stream):
    old, message = warned(lambda: ck.aggregate(stream, f"{PAIR} AGG COUNT", slice_seconds=3))
    assert "of cepkit.aggregate: write spark=ck.SparkOptions(slice_seconds=3)" in message
    assert old.to_arrow() == ck.aggregate(stream, f"{PAIR} AGG COUNT").to_arrow()


PAIR = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute"


ROOT = Path(__file__).parents[2]
WRITTEN = [
    *ROOT.glob("notebooks/*.ipynb"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("benchmarks/**/*.py"),
    *ROOT.glob("widgets/**/*.py"),
    *ROOT.glob("cepkit/**/*.py"),
    ROOT / "README.md",
]
OLD = re.compile(
    rf"\b(ck|cepkit)\.({'|'.join(OLD_NAMES)})\b"
    rf"|\b(ck|cepkit)\.(detect|aggregate)\([^()]*\b({'|'.join(OLD_ARGUMENTS)})="
)


def test_nothing_written_has_an_old_name_or_argument():
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in WRITTEN
        for match in OLD.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found
    assert OLD.search("ck.share_plans(rules)")
    assert OLD.search("ck.detect(stream, pattern, late='collect')")


def test_front_door_has_at_most_29_names():
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "exports at most 29 names" in contributing
    assert len(ck.__all__) <= 29
    assert {*dir(ck)} == {*ck.__all__, "__version__"}


@pytest.mark.parametrize("name", ["AdaptedTrace", "Generation"])
def test_names_that_left_adaptation_warn_and_work(name):
    import cepkit.tracing

    with pytest.warns(DeprecationWarning, match=rf"write cepkit\.tracing\.{name}"):
        assert getattr(ck.adaptation, name) is getattr(cepkit.tracing, name)
