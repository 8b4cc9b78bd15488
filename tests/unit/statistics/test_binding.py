"""Statistics of patterns serve every equivalent pattern under other names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import PatternError, StatisticsError
from cepkit.pattern.builder import event, seq
from cepkit.pattern.normal_form import normal_form
from cepkit.statistics import Statistics
from cepkit.statistics.measuring import estimate
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import Stream
from tests.disguise import disguised
from tests.strategies import Case, as_table, cases

SHARES = (
    "PATTERN SEQ(Share a, Share b, News c) WHERE a.x < b.x AND a.x > 2 AND b.k = c.k WITHIN 9 s"
)
OTHER_NAMES = (
    "PATTERN SEQ(Share n, Share a, News b) WHERE 2 < n.x AND a.x > n.x AND b.k = a.k WITHIN 9 s"
)
WEATHER = "PATTERN SEQ(Weather a, Share b) WHERE a.x = b.x WITHIN 5 s"
KEYED = "PATTERN SEQ(Share b, News a) WHERE a.x < b.x WITHIN 9 s PARTITION BY k"


@pytest.fixture(scope="module")
def stream() -> Stream:
    rng = np.random.default_rng(1)
    size = 600
    frame = pd.DataFrame(
        {
            "t": np.sort(rng.uniform(0, 600, size)),
            "kind": rng.choice(["Share", "News", "Weather"], size, p=[0.5, 0.3, 0.2]),
            "x": rng.integers(0, 6, size),
            "k": rng.integers(0, 5, size),
        }
    )
    return ck.events(frame, time="t", type="kind", unit="s")


def numbers(statistics: Statistics) -> tuple[Any, ...]:
    """Return the fields of statistics that plans use."""
    return (
        statistics.rates,
        statistics.filters,
        statistics.selectivities,
        statistics.equalities,
        statistics.same_key,
        statistics.events,
        statistics.never_occurring,
        statistics.over_time,
    )


def test_other_names(stream: Stream) -> None:
    """A pattern under other names has the measured statistics of the first."""
    query = ck.parse(OTHER_NAMES)
    bound = ck.profile(stream, SHARES).of(query)
    assert numbers(bound) == numbers(ck.profile(stream, query))
    assert ck.choose_plan(query, ck.profile(stream, SHARES)).cost == pytest.approx(
        ck.choose_plan(SHARES, ck.profile(stream, SHARES)).cost
    )


def test_patterns_together(stream: Stream) -> None:
    """Two patterns that both say `a`, of other windows and partitions, are stored together."""
    texts = [SHARES, WEATHER, KEYED, WEATHER, OTHER_NAMES]
    together = ck.profile(stream, texts)
    for saved in (together, Statistics.from_json(together.to_json())):
        assert saved == together
        for text in texts:
            query = ck.parse(text)
            assert numbers(saved.of(query)) == numbers(ck.profile(stream, query))
            assert ck.compare_plans(query, saved).best.statistics == saved.of(query)


def test_common_pairs_are_measured_once(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pairs of shares under two names are drawn from once."""
    measured = []
    for name in ("linked", "sampled"):
        plain = getattr(estimate, name)

        def counting(what: Any, *rest: Any, plain: Any = plain) -> Any:
            measured.append(what)
            return plain(what, *rest)

        monkeypatch.setattr(estimate, name, counting)
    ck.profile(stream, [SHARES, OTHER_NAMES])
    assert len(measured) == 2


def test_third_pattern_uses_measured_events_and_pairs_of_two_others(stream: Stream) -> None:
    """A pattern of events and pairs that two others have between them needs no measuring."""
    known = ck.profile(
        stream, [SHARES, "PATTERN SEQ(News n, Weather w) WHERE n.x < w.x WITHIN 9 s"]
    )
    third = ck.parse(
        "PATTERN SEQ(Share s, News a, Weather b) WHERE s.k = a.k AND b.x > a.x WITHIN 9 s"
    )
    assert numbers(known.of(third)) == numbers(ck.profile(stream, third))


def test_statistics_of_one_window_serve_another_window(stream: Stream) -> None:
    """A pattern can be planned for several windows by one profile."""
    known = ck.profile(stream, SHARES)
    wider = known.of(ck.parse(SHARES.replace("9 s", "20 s")))
    assert wider.selectivities == known.selectivities


def test_edits_count_for_all(stream: Stream) -> None:
    """An event is one in all patterns: another rate is so in each."""
    known = ck.profile(stream, SHARES)
    known.of(ck.parse(OTHER_NAMES))
    edited = known.with_rate("c", 7).with_filter("a", 0.125)
    bound = edited.of(ck.parse(OTHER_NAMES))
    assert (bound.rates["b"], bound.filters["n"]) == (7, 0.125)


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("PATTERN SEQ(Storm a, Share b) WITHIN 9 s", "the rate of Storm"),
        ("PATTERN SEQ(Share a, News b) WHERE a.x > 3 WITHIN 9 s", r"Share \[_.x > 3\]"),
        ("PATTERN SEQ(Share a, News b) WHERE a.x > b.x WITHIN 9 s", "conditions on a, b"),
        ("PATTERN SEQ(Share a, News b) WITHIN 9 s PARTITION BY k", "PARTITION BY k"),
    ],
)
def test_choose_plan_refuses_statistics_without_a_needed_number(
    stream: Stream, text: str, lacking: str
) -> None:
    """Names that are the same say nothing: `a` of one pattern is not `a` of another."""
    with pytest.raises(StatisticsError, match=lacking):
        ck.choose_plan(text, ck.profile(stream, SHARES))


def test_assumed_statistics_are_by_name() -> None:
    """Without a pattern the names are all that is known."""
    assumed = Statistics.assumed({"a": 1, "b": 2, "c": 3})
    assert assumed.of(ck.parse(SHARES)) is assumed
    assert Statistics.from_json(assumed.to_json()) == assumed


def test_tables_show_the_names_of_the_pattern(stream: Stream) -> None:
    """Each part of several shows its pattern; bound statistics show one."""
    together = ck.profile(stream, [SHARES, KEYED])
    for text in (str(together), together._repr_html_()):
        assert "PARTITION BY k" in text
    assert "n, a" in str(together.of(ck.parse(OTHER_NAMES)))
    assert "PARTITION" not in str(together.of(ck.parse(OTHER_NAMES)))


def test_files_without_joins_are_read(stream: Stream) -> None:
    """Files of format 3 can be read; missing fields have their defaults."""
    known = replace(ck.profile(stream, SHARES), joins={}, forecast=None)
    old = json.loads(known.to_json())
    assert "joins" not in old
    old["format"] = "cepkit statistics 3"
    assert Statistics.from_json(json.dumps(old)) == known


def test_files_without_patterns_are_by_name(stream: Stream) -> None:
    """Files of format 2 are read as before."""
    known = replace(ck.profile(stream, SHARES), joins={})
    old = json.loads(known.to_json())
    del old["pattern"], old["others"]
    old["format"] = "cepkit statistics 2"
    read = Statistics.from_json(json.dumps(old))
    assert (read.query, numbers(read)) == (None, numbers(known))
    assert ck.choose_plan(SHARES, read).cost == ck.choose_plan(SHARES, known).cost


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pattern": "PATTERN SEQ("}, "pattern of these saved statistics"),
        ({"pattern": "PATTERN SEQ(A z)"}, "no rate of a variable 'z'"),
        ({"pattern": "PATTERN SEQ(A a) WHERE gone(a.x) > 1"}, "register"),
        ({"pattern": 3}, "pattern"),
        ({"pattern": None}, "do not know their pattern"),
        ({"others": {}}, "others"),
    ],
)
def test_damaged_files(stream: Stream, changes: dict[str, Any], message: str) -> None:
    """Patterns that are none, or of other variables, are refused."""
    saved = json.loads(ck.profile(stream, [SHARES, KEYED]).to_json())
    with pytest.raises(StatisticsError, match=message):
        Statistics.from_json(json.dumps(saved | changes))


def test_lists_are_checked(stream: Stream) -> None:
    """An error names its pattern."""
    with pytest.raises(PatternError, match="pattern 2, line 1"):
        ck.profile(stream, [SHARES, "PATTERN SEQ(A a) WHERE a.nothing > 1"])
    with pytest.raises(PatternError, match="no pattern"):
        ck.profile(stream, [])
    with pytest.raises(PatternError, match="pattern 'second'"):
        ck.profile(stream, {"first": SHARES, "second": "PATTERN SEQ(A a) WHERE a.nothing > 1"})


def test_patterns_with_names_are_measured_like_a_list(stream: Stream) -> None:
    named = ck.profile(stream, {"one": SHARES, "two": KEYED})
    assert named.to_json() == ck.profile(stream, [SHARES, KEYED]).to_json()


@given(cases(("SEQ", "AND", "OR", "NOT"), max_variables=3, max_events=16), st.data())
def test_equivalent_queries_have_the_same_statistics(case: Case, data: st.DataObject) -> None:
    """A pattern with other names, sides and orders has the statistics of the first."""
    changed = disguised(data.draw, case.query)
    made = ck.events(as_table(case.events), time="ts", type="kind")
    one, other = (
        estimate.estimate(made.columns(attributes_read(query)), query)
        for query in (case.query, changed)
    )
    bound = one.of(changed)
    assert bound.rates == other.rates
    assert bound.filters == other.filters
    assert bound.selectivities.keys() == other.selectivities.keys()
    for names in other.selectivities:
        if len(names) == 2:  # of three some are drawn
            assert bound.selectivities[names] == other.selectivities[names]
    assert len(normal_form(changed)) == len(normal_form(case.query))


def test_a_text_and_a_builder_are_patterns_too(stream: Stream) -> None:
    text = "PATTERN SEQ(Share a, News b) WITHIN 5 seconds"
    statistics = ck.profile(stream, text)
    built = seq(event("m", "Share"), event("n", "News")).within("5 seconds")
    assert statistics.of(text) == statistics
    assert set(statistics.of("PATTERN SEQ(Share x, News y) WITHIN 5 seconds").rates) == {"x", "y"}
    assert set(statistics.of(built).rates) == {"m", "n"}
    with pytest.raises(PatternError, match="a pattern of the type int"):
        statistics.of(5)


# --- assumed statistics -------------------------------------------------------------------------

WITHOUT = "PATTERN SEQ(A a, B b, C c) WITHIN 10 s"
WITH = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 s"
RATES = {"a": 1.0, "b": 1.0, "c": 1.0}
ABOUT_PAIR = {("a", "b"): 0.05}


def test_assumed_numbers_count_only_for_conditions_that_the_pattern_has() -> None:
    """By hand 10 + 100 / 2 + 1000 / 6 without the condition, 10 + 2.5 + 50 / 6 with it."""
    assumed = Statistics.assumed(RATES, ABOUT_PAIR, filters={"c": 0.5})
    costs = [ck.choose_plan(text, assumed, "given-order").cost for text in (WITHOUT, WITH)]
    assert costs == pytest.approx([10 + 50 + 1000 / 6, 10 + 2.5 + 50 / 6])


def test_assumed_numbers_of_a_pattern_go_by_condition_and_not_by_name() -> None:
    """Other names find them; another condition under the same names does not."""
    assumed = Statistics.assumed(RATES, ABOUT_PAIR, pattern=WITH)
    other_names = "PATTERN SEQ(A c, B a, C b) WHERE a.x > c.x WITHIN 10 s"
    bound = assumed.of(ck.parse(other_names))
    assert bound.selectivity("a", "c") == 0.05
    assert bound.selectivity("a", "b") == 1
    with pytest.raises(StatisticsError, match="lack the selectivity of the conditions on a, b"):
        assumed.of(ck.parse(WITH.replace("<", ">")))
    assert Statistics.from_json(assumed.to_json()) == assumed


def test_assumed_numbers_of_several_patterns_keep_their_own_conditions() -> None:
    """Two patterns that say a and b, of other conditions."""
    more = WITH.replace("<", ">")
    first = Statistics.assumed(RATES, ABOUT_PAIR, pattern=WITH)
    both = Statistics.assumed(RATES, {("a", "b"): 0.95}, pattern=more, others=[first])
    shares = [both.of(ck.parse(text)).selectivity("a", "b") for text in (WITH, more)]
    assert shares == [0.05, 0.95]
    plan = ck.choose_plan([WITH, more], both)
    alone = [ck.choose_plan(text, both).cost for text in (WITH, more)]
    assert plan.cost <= sum(alone)


def test_numbers_about_conditions_that_the_pattern_lacks_are_refused() -> None:
    with pytest.raises(StatisticsError, match="the share of conditions on a, b"):
        Statistics.assumed(RATES, ABOUT_PAIR, pattern=WITHOUT)
    with pytest.raises(StatisticsError, match="the share of conditions on c"):
        Statistics.assumed(RATES, filters={"c": 0.5}, pattern=WITH)


@pytest.mark.parametrize(
    "other",
    [
        WITH.replace("<", ">"),
        "PATTERN SEQ(B b, A a) WHERE a.x < b.x WITHIN 10 s",
        "PATTERN SEQ(C a, A c) WITHIN 10 s",
    ],
    ids=["condition", "order", "type"],
)
def test_names_that_mean_something_else_in_another_pattern_are_refused(other: str) -> None:
    with pytest.raises(StatisticsError, match="in another pattern") as refused:
        ck.choose_plan([WITH, other], Statistics.assumed(RATES, ABOUT_PAIR))
    assert "pattern=" in str(refused.value.hint)


def test_patterns_share_by_name_if_names_mean_the_same() -> None:
    """The pattern without the condition is planned without it, beside the one that has it."""
    assumed = Statistics.assumed(RATES, ABOUT_PAIR)
    plan = ck.choose_plan([WITH, WITHOUT], assumed, share="none")
    alone = [ck.choose_plan(text, assumed, "dp-order", cost="work") for text in (WITH, WITHOUT)]
    # A shared plan costs by the second, other plans by the window of ten.
    assert 10 * plan.cost == pytest.approx(sum(one.cost for one in alone))
