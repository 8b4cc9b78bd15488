"""Patterns that are odd together: twice the same, very many, none, over other columns."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import LimitError, PatternError
from cepkit.sharing import graph as graphs
from cepkit.stream.warnings import StreamWarning

TYPES = "ABCDEFGH"
ROWS = pd.DataFrame(
    {
        "ts": pd.to_datetime([i * 300 for i in range(400)], unit="ms"),
        "type": [TYPES[(i * 5 + i // 8) % 8] for i in range(400)],
        "x": [i * 7 % 10 for i in range(400)],
    }
)
PAIR = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 15 s"
TRIPLE = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 15 s"


@pytest.fixture(scope="module")
def stream():
    return ck.events(ROWS, time="ts", type="type")


def generated(number):
    """Patterns of two or three events, few of them alike."""
    return [
        f"PATTERN SEQ({TYPES[i % 5]} a, {TYPES[i % 7]} b, {TYPES[i % 3]} c) WHERE a.x < b.x "
        f"AND c.x > {i % 11} WITHIN {1 + i % 13} s"
        for i in range(number)
    ]


def verbs(stream, patterns):
    known = ck.profile(stream, [PAIR, TRIPLE])
    return {
        "detect": lambda: ck.detect(stream, patterns),
        "profile": lambda: ck.profile(stream, patterns),
        "choose_plan": lambda: ck.choose_plan(patterns, known),
        "compare_plans": lambda: ck.compare_plans(patterns, known),
        "pattern_graph": lambda: ck.sharing.pattern_graph(patterns),
        "aggregate": lambda: ck.aggregate(stream, patterns),
    }


VERBS = (
    "detect", "profile", "choose_plan", "compare_plans", "pattern_graph", "aggregate",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_pattern_is_refused_by_every_verb(stream, verb):
    for none in ([], {}):
        with pytest.raises(PatternError, match="no pattern\nExpected: one or more"):
            verbs(stream, none)[verb]()


@pytest.mark.parametrize("verb", VERBS)
def test_a_pattern_that_does_not_parse_names_its_number(stream, verb):
    rest = " AGG COUNT" if verb == "aggregate" else ""
    patterns = [PAIR + rest, "PATTERN SEQ(A a,, B b)", TRIPLE + rest]
    with pytest.raises(PatternError, match=r"^pattern 2, line 1, column 17\n(.|\n)*\^") as caught:
        verbs(stream, patterns)[verb]()
    assert "pattern 2" in str(caught.value)
    with pytest.raises(PatternError, match=r"^pattern 'odd', line 1"):
        verbs(stream, {"right": PAIR + rest, "odd": patterns[1]})[verb]()


@pytest.mark.parametrize("verb", ["detect", "profile", "aggregate"])
def test_a_column_of_another_stream_is_refused_with_the_pattern(stream, verb):
    rest = " AGG COUNT" if verb == "aggregate" else ""
    patterns = [PAIR + rest, f"{TRIPLE.replace('b.x', 'b.price')}{rest}"]
    with pytest.raises(PatternError, match=r"^pattern 2, (.|\n)*no column 'price'"):
        verbs(stream, patterns)[verb]()


def test_patterns_may_read_columns_that_others_do_not():
    rows = ROWS.assign(y=[i * 3 % 10 for i in range(len(ROWS))], z=[f"{i % 3}" for i in range(400)])
    stream = ck.events(rows, time="ts", type="type")
    patterns = [PAIR, PAIR.replace(".x", ".y"), PAIR.replace("a.x < b.x", "a.z = b.z")]
    alone = [ck.detect(stream, each).count() for each in patterns]
    assert ck.detect(stream, patterns).counts().tolist() == alone
    assert len({*alone}) == 3


@pytest.mark.parametrize("share", ["auto", "prefix", "tree", "none"])
def test_a_pattern_twice_is_shared_wholly_and_reported_twice(stream, share):
    renamed = "PATTERN SEQ(A one, B two, C three) WHERE two.x > one.x WITHIN 15 s"
    several = ck.detect(stream, {"it": TRIPLE, "again": renamed, "same": TRIPLE}, share=share)
    alone = ck.detect(stream, TRIPLE).count()
    assert alone > 0
    assert several.counts().to_dict() == dict.fromkeys(("it", "again", "same"), alone)
    assert several.together.to_pandas()["pattern"].value_counts().to_dict() == (
        dict.fromkeys(("it", "again", "same"), alone)
    )
    if share != "none":
        assert all(len(node.users) == 3 for node in several.plan.nodes)
        steps = several.explain().steps
        assert len(steps) == 3
        assert all(step.queries == ("it", "again", "same") for step in steps)


def test_a_name_is_given_once(stream):
    several = ck.detect(stream, {"it": PAIR})
    for add in (several.add, several.plan.add, ck.sharing.pattern_graph({"it": PAIR}).add):
        with pytest.raises(PatternError, match="there is a pattern 'it'\nHint: give it another"):
            add(TRIPLE, "it")


def test_type_that_never_occurs_gives_one_warning_for_all_patterns(stream):
    patterns = [f"PATTERN SEQ(A a, Bee b) WITHIN {n} s" for n in range(1, 6)]
    with pytest.warns(StreamWarning) as told:
        ck.detect(stream, [*patterns, "PATTERN SEQ(Sea a, A b) WITHIN 1 s"])
    assert [str(each.message) for each in told] == [
        "no event has the type 'Bee' (PATTERN SEQ(A a, Bee b) WITHIN 1 second and 4 more patterns)",
        "no event has the type 'Sea' (PATTERN SEQ(Sea a, A b) WITHIN 1 second)",
    ]


@pytest.mark.slow
def test_results_of_over_a_hundred_patterns_print_briefly(stream):
    patterns = generated(130)
    several = ck.detect(stream, patterns, share="prefix")
    assert several.counts().sum() > 0
    few = range(0, 130, 40)
    assert [several.counts().iloc[q] for q in few] == [
        ck.detect(stream, patterns[q]).count() for q in few
    ]
    for shown in (several, several.plan, several.explain(), ck.sharing.pattern_graph(patterns)):
        assert len(str(shown).splitlines()) < 130
        assert "more " in str(shown).splitlines()[-1]
    with pytest.raises(PatternError, match="pattern 100 and 30 more\nHint: did you mean"):
        several["patern 7"]


@pytest.mark.slow
def test_hundreds_of_patterns_are_planned_found_and_compared(stream):
    patterns = generated(400)
    plan = ck.choose_plan(patterns, ck.profile(stream, patterns))
    assert len(plan.plans) == 400
    assert plan.cost < plan.alone
    several = ck.detect(stream, patterns, plan)
    alone = {text: ck.detect(stream, text).count() for text in patterns[:8]}
    assert several.counts().tolist()[:8] == [alone[text] for text in patterns[:8]]
    assert len(ck.sharing.pattern_graph(patterns).edges) > 1_000


def test_pattern_graph_of_too_many_pairs_is_refused_with_a_hint(monkeypatch):
    monkeypatch.setattr(graphs, "MOST_PAIRS", 5)
    patterns = [f"PATTERN SEQ(A a, B{i} b) WITHIN 1 s" for i in range(4)]
    with pytest.raises(LimitError, match=r"more than 5 pairs(.|\n)*choose_plan take any number"):
        ck.sharing.pattern_graph(patterns)
    apart = [f"PATTERN SEQ(A{i} a, B{i} b) WITHIN 1 s" for i in range(50)]
    assert not ck.sharing.pattern_graph(apart).edges
    assert len(ck.sharing.pattern_graph(patterns[:3]).edges) == 3
