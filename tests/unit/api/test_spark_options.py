"""Options of Spark are checked when they are made, and refused where they say nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import cepkit as ck
from cepkit.api.spark_options import options_for
from cepkit.errors import ArgumentError, StreamError

LOCAL = SimpleNamespace(place="local", lateness=None)
BATCH = SimpleNamespace(place="spark", lateness=None)
STREAM = SimpleNamespace(place="spark", lateness="1 s")
APPLY = {
    "slice_seconds": {"detect": [BATCH, STREAM], "aggregate": [BATCH]},
    "slice_events": {"detect": [BATCH], "aggregate": []},
    "route": {"detect": [BATCH], "aggregate": []},
    "buckets": {"detect": [STREAM], "aggregate": []},
    "late": {"detect": [STREAM], "aggregate": []},
    "timeouts": {"detect": [STREAM], "aggregate": []},
}
GIVEN = {
    "slice_seconds": 2.5,
    "slice_events": 7,
    "route": "workers",
    "buckets": 3,
    "late": "collect",
    "timeouts": True,
}


@pytest.mark.parametrize("stream", [LOCAL, BATCH, STREAM])
@pytest.mark.parametrize("verb", ["detect", "aggregate"])
@pytest.mark.parametrize("name", GIVEN)
def test_option_is_taken_where_it_applies_and_refused_elsewhere(name, verb, stream):
    options = ck.SparkOptions(**{name: GIVEN[name]})
    assert options.given == (name,)
    if stream in APPLY[name][verb]:
        assert options_for(options, verb, stream) is options
        return
    with pytest.raises((ArgumentError, StreamError), match=f"{name}= of SparkOptions") as error:
        options_for(options, verb, stream)
    assert "Expected:" in str(error.value)


def test_default_options_apply_everywhere():
    stream = ck.events(ck.sample_stocks(50), time="ts", type="ticker")
    pattern = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute"
    matches = ck.detect(stream, pattern, spark=ck.SparkOptions())
    assert matches.count() == ck.detect(stream, pattern).count()
    counted = ck.aggregate(stream, f"{pattern} AGG COUNT", emit="total", spark=ck.SparkOptions())
    assert counted.to_pandas().iloc[0, 0] == matches.count()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"slice_seconds": 0}, "slice_seconds=0"),
        ({"slice_seconds": "2"}, "slice_seconds=2, without quotes"),
        ({"slice_events": 0}, "slice_events=0"),
        ({"route": "worker"}, "did you mean 'workers'"),
        ({"late": "drop"}, "late='drop'"),
        ({"bucket": 3}, "SparkOptions has no argument 'bucket'(.|\n)*'buckets'"),
        ({"timeouts": 3}, r"timeouts=3(.|\n)*True or False"),
    ],
)
def test_wrong_value_of_an_option_is_refused(given, message):
    with pytest.raises((ArgumentError, StreamError), match=message):
        ck.SparkOptions(**given)


def test_session_instead_of_options_is_refused():
    stream = ck.events(ck.sample_stocks(50), time="ts", type="ticker")
    with pytest.raises(ArgumentError, match=r"spark= is of the type dict(.|\n)*SparkOptions"):
        ck.detect(stream, "PATTERN SEQ(MSFT a, GOOG b)", spark={"late": "collect"})


def test_route_of_several_patterns_is_refused():
    with pytest.raises(StreamError, match="route='driver' for several patterns"):
        options_for(ck.SparkOptions(route="driver"), "detect", BATCH, several=True)
