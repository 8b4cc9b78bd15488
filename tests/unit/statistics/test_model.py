import copy
import json
import math
import pickle
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cepkit.errors import StatisticsError
from cepkit.statistics import (
    Equality,
    Forecast,
    Joined,
    KeyCounts,
    Lateness,
    OverTime,
    Selectivity,
    Statistics,
)
from cepkit.stream.columns import Dropped

MEASURED = Statistics(
    {"a": 5.0, "b": 2.5, "c": 0.0},
    {"a": 0.5},
    {
        frozenset("ab"): Selectivity(0.25, 10_000, 0.00433),
        frozenset("abc"): Selectivity(0.0, 500, 0.0),
    },
    same_key=0.01,
    events=200_000,
    dropped=Dropped(2, 1),
    first=1_700_000_000_000_000,
    last=1_700_003_600_000_000,
    never_occurring=("C<script>",),
    equalities={frozenset("ab"): Equality(0.3, Selectivity(0.5, 900, 0.01))},
    missing={"x": 0.125},
    over_time=OverTime(1_700_000_000_000_000, 900.0, {"a": (4, 6, 5, 5), "b": (0, 0, 1, 9)}),
    keys=(KeyCounts(("k<script>",), 10, 3, (("<script>", 6), ("$x$", 3), ("z", 1))),),
    lateness=Lateness(3, 200_000, 2.5, 2.0),
    forecast=Forecast(1e10, 9e9, 1.1e10, 3e10, 2e10, 2e7),
    joins={frozenset("ab"): Joined(1e-3, 37.5, 1e-6), frozenset("bc"): Joined(0, 0, 1e-30, True)},
)


def test_rate_includes_the_filter_of_the_variable():
    assert MEASURED.rate("a") == 2.5
    assert MEASURED.rate("b") == 2.5


def test_selectivity_of_an_unordered_pair():
    assert MEASURED.selectivity("a", "b") == MEASURED.selectivity("b", "a") == 0.25
    assert MEASURED.selectivity("b", "c") == 1.0
    assert MEASURED.selectivity("a", "b", "c") == 0.0


def test_span():
    assert MEASURED.span_seconds == 3600
    assert Statistics({}).span_seconds == 0


def test_edits_give_another_value_and_leave_this_one():
    edited = MEASURED.with_rate("a", 12).with_selectivity("c", "a", 0.1)
    assert (edited.rates["a"], edited.rate("a")) == (12, 6)
    assert edited.selectivity("a", "c") == 0.1
    assert MEASURED.rates["a"] == 5
    assert MEASURED.selectivity("a", "c") == 1
    assert edited.with_rate("a", 5) != MEASURED


def test_statistics_are_a_hashable_value():
    same = Statistics.from_json(MEASURED.to_json())
    assert same == MEASURED
    assert hash(same) == hash(MEASURED)
    assert same != same.with_rate("a", 5.1)
    assert len({same, MEASURED, same.with_rate("a", 5)}) == 1


def test_edited_statistics_drop_outdated_forecasts_and_equalities():
    assert MEASURED.with_filter("b", 0.25).rate("b") == 0.625
    for edited in (
        MEASURED.with_rate("a", 1),
        MEASURED.with_filter("a", 0.1),
        MEASURED.with_selectivity("b", "c", 0.1),
    ):
        assert edited.forecast is None
        assert edited.equalities == MEASURED.equalities
    assert not MEASURED.with_selectivity("b", "a", 0.1).equalities


def test_files_of_format_1_are_read():
    old = json.loads(MEASURED.to_json())
    new = ("equalities", "missing", "over_time", "keys", "lateness", "forecast", "joins")
    old = {key: value for key, value in old.items() if key not in new}
    old["format"] = "cepkit statistics 1"
    read = Statistics.from_json(json.dumps(old))
    assert (read.rates, read.selectivities) == (MEASURED.rates, MEASURED.selectivities)
    assert (read.never_occurring, read.over_time, read.keys) == (("C<script>",), None, ())
    assert '"cepkit statistics 4"' in read.to_json()


def test_statistics_cannot_be_changed_in_place():
    rates = {"a": 1.0}
    statistics = Statistics(rates)
    rates["a"] = 2.0
    assert statistics.rates["a"] == 1.0
    with pytest.raises(TypeError):
        statistics.rates["a"] = 2.0


def test_statistics_can_be_pickled_and_copied():
    assert pickle.loads(pickle.dumps(MEASURED)) == MEASURED
    assert copy.deepcopy(MEASURED) == MEASURED


@given(
    st.dictionaries(st.text(), st.floats(0, 1e100)),
    st.floats(0, 1),
    st.none() | st.integers(0, 10**12),
)
def test_json_round_trip(rates, share, pairs):
    names = sorted(rates)[:2]
    selectivities = {frozenset(names): Selectivity(share, pairs)} if len(names) == 2 else {}
    statistics = Statistics(rates, selectivities=selectivities)
    assert Statistics.from_json(statistics.to_json()) == statistics


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"format": "cepkit statistics 1"}',
        MEASURED.to_json().replace("0.25", '"many"'),
        MEASURED.to_json().replace("0.25", "NaN"),
        MEASURED.to_json().replace("0.25", "7"),
        MEASURED.to_json().replace("2.5", "Infinity"),
        MEASURED.to_json().replace("200000", "1e999"),
        MEASURED.to_json().replace('"b"', "[]"),
    ],
)
def test_damaged_json_is_refused(text):
    with pytest.raises(StatisticsError):
        Statistics.from_json(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": ' * 100_000, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 5_000 + "}", "thousands of digits"),
        ("-" + "1" * 5_000, "thousands of digits"),
        ("{'a': 1}", "no JSON"),
        (None, "statistics from a NoneType"),
        (b"{}", "statistics from a bytes"),
    ],
)
def test_from_json_refuses_texts_that_are_no_statistics(text, said):
    with pytest.raises(StatisticsError, match=said):
        Statistics.from_json(text)


_CHANGES = {
    "a text for a rate": (("rates", "a"), "5", "rates.'a' is '5'"),
    "a rate beyond floats": (("rates", "a"), 10**400, "rates.'a'"),
    "a truth value for a number": (("events",), True, "events is true"),
    "a fraction of an event": (("events",), 0.5, "events is 0.5"),
    "a list for an object": (("rates",), [1], "rates is a list of 1 value"),
    "an object for a list": (("never_occurring",), {}, "never_occurring is an object"),
    "a number for a type": (("never_occurring",), [3], "never_occurring[0] is 3"),
    "a part that is missing": (("dropped",), {}, "dropped.null_time is missing"),
    "a time out of range": (("last",), 2**70, "last is 1180591620717411303424"),
    "a text for a count": (("over_time", "counts", "a"), ["1"], "over_time.counts.'a'[0] is '1'"),
    "buckets that are too long": (("over_time", "bucket_seconds"), 1e13, "292,000 years"),
    "keys that are too many": (("keys", 0, "events"), 0, "most frequent keys have more"),
    "a key of three parts": (("keys", 0, "most_frequent"), [["x", 1, 2]], "a list of 2"),
    "a variable that is none": (("selectivities", 0, "variables"), ["a", "z"], "variable 'z'"),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_damaged_number_is_refused_with_its_place(change):
    (*path, last), value, said = _CHANGES[change]
    part = whole = json.loads(MEASURED.to_json())
    for name in path:
        part = part[name]
    part[last] = value
    with pytest.raises(StatisticsError, match=re.escape(said)):
        Statistics.from_json(json.dumps(whole))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Statistics(3), "rates= is of the type int"),
        (lambda: Statistics({"a": "x"}), "the rate of 'a' is 'x'"),
        (lambda: Statistics({"a": None}), "the rate of 'a' is None"),
        (lambda: Statistics({"a": 10**400}), "the rate of 'a' is 1000"),
        (lambda: Statistics({"a": 10**5000}), "the rate of 'a' is a very large int"),
        (lambda: Statistics({3: 1.0}), "a variable of the type int"),
        (lambda: Statistics({"a": 1.0}, events="x"), "events= is of the type str"),
        (lambda: Statistics({"a": 1.0}, events=10**5000), "a very large int events"),
        (lambda: Statistics({"a": 1.0}, first=10**5000, last=10**5000), "146,000 years"),
        (lambda: Statistics.assumed({"a": 1e99, "b": 1e99}), "below 2^63"),
        (lambda: Statistics.assumed({"a": 1e308}, span_seconds=0.0), "Expected: at most 1e+100"),
        (lambda: Statistics({"a": 1e308}), "Expected: at most 1e+100"),
        (lambda: Selectivity(0.5, 10**400), "below 2^63"),
        (lambda: Statistics.assumed({"a": -1.0}), "the rate of 'a' is -1"),
        (lambda: Statistics.assumed({"a": 0.0}, span_seconds=1e300), "146,000 years"),
        (lambda: Selectivity("x"), "a selectivity is 'x'"),
    ],
)
def test_values_that_cannot_be_measured_ones_are_refused(made, said):
    with pytest.raises(StatisticsError, match=re.escape(said)):
        made()


def test_json_is_standard():
    def refuse(constant):
        raise AssertionError(constant)

    assert json.loads(MEASURED.to_json(), parse_constant=refuse)["events"] == 200_000


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_impossible_rates_are_refused(rate):
    with pytest.raises(StatisticsError, match="rate of 'a'"):
        MEASURED.with_rate("a", rate)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_impossible_shares_are_refused(share):
    with pytest.raises(StatisticsError):
        MEASURED.with_selectivity("a", "b", share)
    with pytest.raises(StatisticsError):
        Statistics({"a": 1}, {"a": share})
    with pytest.raises(StatisticsError):
        Statistics({"a": 1}, same_key=share)


def test_unknown_variables_are_named_with_the_nearest():
    statistics = Statistics.assumed({"price": 1, "news": 1})
    for wrong in (
        lambda: statistics.rate("prize"),
        lambda: statistics.with_rate("prize", 1),
        lambda: statistics.selectivity("prize", "news"),
        lambda: statistics.with_selectivity("prize", "news", 0.5),
        lambda: Statistics({"price": 1}, {"prize": 0.5}),
    ):
        with pytest.raises(StatisticsError, match=r"'prize'(.|\n)*did you mean 'price'"):
            wrong()


def test_other_impossible_values():
    with pytest.raises(StatisticsError, match="fewer than two"):
        MEASURED.with_selectivity("a", "a", 0.5)
    with pytest.raises(StatisticsError, match="before the first"):
        Statistics({}, first=2, last=1)
    with pytest.raises(StatisticsError, match="only one"):
        Statistics({}, first=2)
    with pytest.raises(StatisticsError, match="-1"):
        Statistics({}, events=-1)
    with pytest.raises(StatisticsError, match="-1"):
        Selectivity(0.5, -1)
    with pytest.raises(StatisticsError, match="standard error"):
        Selectivity(0.5, 1, math.nan)


def test_assumed_statistics():
    statistics = Statistics.assumed({"a": 2, "b": 1}, {("a", "b"): 0.5}, span_seconds=100)
    assert (statistics.events, statistics.span_seconds) == (300, 100)
    assert statistics.selectivities[frozenset("ab")].interval() == (0.5, 0.5)


def test_confidence_intervals():
    low, high = Selectivity(0.5, 10_000, 0.005).interval()
    assert (low, high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.5098, abs=1e-4))
    # What was never seen in 100 pairs may still be there.
    low, high = Selectivity(0.0, 100, 0.0).interval()
    assert (low, high) == (0, pytest.approx(0.037, abs=1e-3))
    assert Selectivity(1.0, 100).interval()[1] == 1
    assert Selectivity(0.0, 0).interval() == (0, 1)


@given(st.floats(0, 1), st.integers(0, 10**9))
def test_the_interval_holds_the_share(share, pairs):
    low, high = Selectivity(share, pairs).interval()
    assert 0 <= low <= share <= high <= 1


@given(st.floats(0, 1), st.none() | st.integers(0, 2**63 - 1), st.floats(0, 1.7e308))
@example(0.5, 10, 5e-324)
@example(0.5, 10, 1e308)
@example(0.5, 10, 1e160)
@example(5e-324, None, 1e-200)
def test_any_standard_error_has_an_interval_that_holds_the_share(share, pairs, error):
    low, high = Selectivity(share, pairs, error).interval()
    assert 0 <= low <= share <= high <= 1


def test_statistics_print_as_tables():
    lines = str(MEASURED).splitlines()
    assert lines[:6] == [
        "200,000 events in 3,600 s, 2023-11-14T22:13:20.000000 to 2023-11-14T23:13:20.000000",
        "dropped: 2 rows without time, 1 without type",
        "types that never occur: 'C<script>'",
        "pairs of events in one partition: 0.01",
        "missing values: x 12.5 %",
        "out of order: 3 events (0.0015 %), at most 2.5 s late, 99 % of them at most 2 s",
    ]
    assert lines[6].startswith("expected matches: 1e+10 (9e+09 to 1.1e+10 from the sample only)")
    assert lines[7] == (
        "warning: 1e+10 matches, 2e+10 partial matches, 2e+07 partial matches alive in one "
        "window are expected; shorten WITHIN, add conditions, PARTITION BY a key, bound KL, as in "
        "{1,3}, count() or limit= instead of all matches"
    )
    assert lines[8:16] == [
        "",
        "variable  events/s  share that passes its conditions  left, events/s",
        "a                5                               0.5             2.5",
        "b              2.5                                 1             2.5",
        "c                0                                 1               0",
        "",
        "conditions between  selectivity (share)     95 % interval  sampled pairs",
        "a, b                               0.25  0.2416 to 0.2586         10,000",
    ]
    below = [" ".join(line.split()) for line in lines[16:]]
    assert "a, b 0.5 0.4804 to 0.5196 0.3" in below
    assert "b 0 0.002778 0.01 +100 % 7.6" in below
    assert "k<script> 3 10 60 % 1.8 <script> (6), $x$ (3), z (1)" in below


def test_html_is_escaped():
    html = MEASURED._repr_html_()
    assert "<script>" not in html
    assert "C&lt;script&gt;" in html
