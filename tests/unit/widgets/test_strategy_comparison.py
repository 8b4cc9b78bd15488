"""The four strategies over one stream: who has which match, and why the others lack it."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.pattern.policies import Strategy
from cepkit_widgets import StrategyComparison
from cepkit_widgets.kit.parts import place_after
from cepkit_widgets.strategy_comparison import state as state_module
from cepkit_widgets.strategy_comparison.page import group_text
from cepkit_widgets.strategy_comparison.state import Comparison, Extent, StrategyState

FRAME = pd.DataFrame(
    {
        "ts": range(8),
        "type": list("ABXABBAB"),
        "x": [1.0, 5.0, 3.0, 0.0, 9.0, 10.0, 2.0, 4.0],
        "k": list("ppqqpqpq"),
        "note": ["<b>p</b>", *"qrstuvw"],
    }
)
STREAM = ck.events(FRAME, time="ts", type="type", unit="s")
PAIRS = "PATTERN SEQ(A a, B b) WITHIN 5 seconds"
KEYED = "PATTERN SEQ(A a, B b) WITHIN 5 seconds PARTITION BY k"
ANY, NEXT, STRICT, PARTITION = Strategy


def comparison(pattern=PAIRS, stream=STREAM):
    app = StrategyComparison(stream, pattern)
    assert app.error is None, app.error
    return app


def told(app, **message):
    """Send a message as the page does when its reader clicks or types."""
    app._asked(app, {**message, "n": app._answered + 1}, [])


def matches_of(stream, pattern, strategy):
    """The matches of one strategy by `detect` alone, as texts."""
    query = replace(ck.parse(pattern), strategy=strategy, text=None)
    frame = ck.detect(stream, query).to_pandas()
    return notes_of(frame)


def notes_of(frame):
    """The notes of the events of each match, in the order of the variables' names."""
    names = sorted(name for name in frame if name.endswith(".note"))
    return {tuple(map(_note_text, row)) for row in zip(*(frame[n] for n in names), strict=True)}


def _note_text(value):
    # A variable of another branch of an OR has none.
    return value if isinstance(value, str) else " ".join(value) if np.ndim(value) else ""


def test_counts_and_groups():
    app = comparison()
    assert list(app.counts.matches[:3]) == [7, 3, 3]
    assert list(app.counts.lacks[:3]) == [0, 4, 4]
    assert "without partitions" in app.counts.error[3]
    groups = {tuple(row[:-1]): row[-1] for row in app.groups.to_numpy().tolist()}
    assert sum(groups.values()) == 7
    assert groups[True, True, True] == 3
    assert groups[True, False, False] == 4
    assert app.chosen is ANY


@pytest.mark.parametrize(
    "pattern",
    [
        PAIRS,
        KEYED,
        "PATTERN SEQ(A a, KL(B b)) WITHIN 4 seconds PARTITION BY k",
        "PATTERN SEQ(A a, NOT(X n), B b) WITHIN 6 seconds",
        "PATTERN OR(SEQ(A a, B b), SEQ(X c, A d)) WITHIN 4 seconds",
        "PATTERN AND(A a, B b) WHERE a.x < b.x WITHIN 3 seconds PARTITION BY k",
    ],
)
def test_counts_and_matches_equal_those_of_each_strategy(pattern):
    draw = random.Random(pattern)
    for _ in range(3):
        frame = pd.DataFrame(
            {
                "ts": range(14),
                "type": draw.choices("ABX", k=14),
                "x": [draw.random() for _ in range(14)],
                "k": draw.choices("pq", k=14),
                "note": [f"n{i}" for i in range(14)],
            }
        )
        stream = ck.events(frame, time="ts", type="type", unit="s")
        app = comparison(pattern, stream)
        every = matches_of(stream, pattern, ANY)
        assert len(app._comparison.keys) == len(every)
        for strategy in app._comparison.ran:
            expected = matches_of(stream, pattern, strategy)
            # No other strategy has what skip-till-any-match lacks.
            assert expected <= every
            app.choose(strategy)
            assert notes_of(app.matches) == expected
            assert int(app.counts.matches[list(Strategy).index(strategy)]) == len(expected)


def test_groups_are_listed_and_let_go():
    app = comparison()
    told(app, do="group", value=group_text(frozenset({ANY})))
    assert set(app.matches[str(NEXT)]) == {False}
    told(app, do="group", value=group_text(frozenset({ANY, NEXT, STRICT})))
    assert set(app.matches[str(NEXT)]) == {True}
    app.choose(NEXT)
    told(app, do="group", value=group_text(frozenset({ANY})))
    assert app.chosen is ANY
    assert len(app.matches) == 4
    told(app, do="group", value=group_text(frozenset({ANY})))
    assert len(app.matches) == 7
    told(app, do="group", value="nothing")
    assert "no group" in str(app.error)


def test_the_arrow_keys_choose_strategies_and_matches():
    app = comparison()
    told(app, do="step-strategy", value="ArrowDown")
    assert app.chosen is NEXT
    assert app.current == app._comparison.numbers(app.state)[0]
    told(app, do="step", value="End")
    assert app.current == app._comparison.numbers(app.state)[-1]
    told(app, do="step", value="ArrowDown")
    assert app.current == app._comparison.numbers(app.state)[-1]
    told(app, do="step-strategy", value="End")
    # The last one cannot be run.
    assert app.chosen is STRICT
    assert place_after("Home", 2, 3) == 0
    assert place_after("PageUp", 1, 3) == 0
    assert place_after("x", 1, 3) == 1


def test_a_match_of_another_strategy_is_listed_where_it_is():
    app = comparison()
    told(app, do="step-strategy", value="ArrowDown")
    lacking = app._comparison.owners.index(frozenset({ANY}))
    told(app, do="choose", value=str(lacking))
    assert app.current == lacking
    assert app.state.group == frozenset({ANY})
    with pytest.raises(ck.CepkitError, match="no match 99"):
        app.select(99)


def test_comparison_says_why_a_strategy_lacks_a_match():
    app = comparison(KEYED)
    only = app._comparison.owners.index(frozenset({ANY}))
    app.select(only)
    said = {s: app._comparison.why_lacks(only, s) for s in (NEXT, STRICT, PARTITION)}
    assert "between" in said[STRICT]
    assert "between" in said[PARTITION]
    assert said[NEXT]
    for reason in said.values():
        assert reason in app.html.replace("&#x27;", "'")


def test_sets_are_named_whole_in_the_question_why():
    app = comparison("PATTERN SEQ(A a, KL(B b), B c) WITHIN 6 seconds")
    for number, owners in enumerate(app._comparison.owners):
        for strategy in {NEXT, STRICT} - owners:
            assert app._comparison.why_lacks(number, strategy)
    app.select(len(app._comparison.keys) - 1)
    assert app.error is None
    assert re.search(r"\(\d+( \d+)*\)", app.html)


def test_more_matches_than_are_held(monkeypatch):
    monkeypatch.setattr(state_module, "MOST", 4)
    app = comparison()
    assert list(app.counts.matches[:3]) == [7, 3, 3]
    assert list(app.counts.lacks[:3]) == [0, 4, 4]
    assert int(app.groups.matches.sum()) == 7
    assert "Of skip-till-any-match the first 4 matches are held" in app.html
    assert set(app.matches[str(ANY)]) == {True}


def test_code_finds_the_matches_of_the_chosen_strategy():
    app = comparison()
    app.choose("skip-till-next-match")
    names = {"stream": STREAM}
    exec(app.as_code(), names)
    assert names["matches"].count() == 3
    assert app.query.strategy is NEXT


def test_the_strategy_of_the_pattern_is_chosen_at_first():
    assert comparison(f"{PAIRS} STRATEGY strict-contiguity").chosen is STRICT


def test_captions_name_the_cap_when_only_the_first_events_are_taken():
    app = StrategyComparison(STREAM, PAIRS, events=4)
    assert int(app.counts.matches[0]) == 1
    assert set(app.counts.events) == {4}
    assert "over the first 4 of 8 events" in app.html
    captions = re.findall("<caption>(.*?)</caption>", app.html)
    assert len(captions) == 3
    assert all("in the first 4 events" in caption for caption in captions)
    assert "in the first 4 events" in repr(app)
    names = {"stream": STREAM}
    exec(app.as_code(), names)
    assert names["matches"].count() == 1


def test_captions_name_no_cap_over_the_whole_stream():
    app = StrategyComparison(STREAM, PAIRS, events=8)
    assert "over 8 events" in app.html
    assert "first" not in "".join([repr(app), *re.findall("<caption>(.*?)</caption>", app.html)])
    assert "head" not in app.as_code()


def test_strategy_that_cannot_run_has_no_button():
    app = comparison()
    assert f'data-value="{PARTITION}"' not in app.html
    assert f'data-value="{STRICT}"' in app.html
    with pytest.raises(ck.CepkitError, match=r"partition-contiguity cannot be run: .*partitions"):
        app.choose(PARTITION)
    assert app.chosen is ANY
    told(app, do="strategy", value=str(PARTITION))
    assert "cannot be run" in str(app.error)


def test_no_match_at_all():
    app = comparison("PATTERN SEQ(X a, X b) WITHIN 5 seconds")
    assert app.current is None
    assert app.matches.empty
    told(app, do="step", value="ArrowDown")
    assert app.error is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((FRAME, PAIRS), "instead of a stream"),
        ((STREAM, "PATTERN SEQ(A a"), "ends too early"),
        ((STREAM, "PATTERN SEQ(A a, B b) WHERE a.y > 1"), "y"),
        ((STREAM, "AGG count(*) PATTERN SEQ(A a, B b)"), ""),
    ],
)
def test_wrong_input_is_a_text(arguments, words):
    app = StrategyComparison(*arguments)
    assert app.error is not None
    assert words in str(app.error)
    assert 'role="alert"' in app.html
    told(app, do="step", value="ArrowDown")
    assert "nothing to compare" in app.html
    assert "StrategyComparison:" in repr(app)


@pytest.mark.parametrize("message", [{"do": "choose", "value": "x"}, {"do": "strategy"}])
def test_odd_messages_are_texts(message):
    app = comparison()
    told(app, **message)
    assert app.error is not None


def test_texts_are_no_markup():
    frame = FRAME.assign(type=["<b>A</b>" if t == "A" else t for t in FRAME.type])
    stream = ck.events(frame, time="ts", type="type", unit="s")
    app = comparison('PATTERN SEQ("<b>A</b>" a, B b) WITHIN 5 seconds', stream)
    assert "<b>" not in app.html
    assert "need a running notebook" in app._repr_mimebundle_()[0]["text/html"]


def test_states_are_values():
    known = Comparison(STREAM, ck.parse(PAIRS), Extent(8, 8))
    state = StrategyState().of(known)
    assert state.grouped(frozenset({ANY}), known).grouped(frozenset({ANY}), known).group is None
    assert state.at(0, known) == state.at(0, known)
