"""Options of `choose_plan` and `compare_plans` that say nothing for what is given are refused."""

from __future__ import annotations

import pytest

import cepkit as ck
from cepkit.errors import ArgumentError, StatisticsError
from cepkit.sharing import PatternGraph

PATTERN = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds"
BOTH = [PATTERN, "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"]
STATISTICS = ck.Statistics.assumed({"a": 10, "b": 10, "c": 1}, {("a", "b"): 0.1})


@pytest.mark.parametrize(
    ("pattern", "options", "message"),
    [
        (PATTERN, {"share": "tree"}, "share= for one pattern"),
        (BOTH, {"alphas": [1.0]}, "alphas= for several patterns"),
        (BOTH, {"run": True}, "run= for several patterns"),
        (PATTERN, {"matches": 3}, "matches= without alphas="),
        (PATTERN, {"alphas": [1.0], "cost": "work"}, "cost= together with alphas="),
        (PATTERN, {"alphas": [1.0], "run": True}, "run= together with alphas="),
        (PATTERN, {"alphas": "all"}, "alphas='all'"),
    ],
)
def test_option_of_compare_plans_that_says_nothing_is_refused(pattern, options, message):
    with pytest.raises(ArgumentError, match=message):
        ck.compare_plans(pattern, STATISTICS, **options)


def test_share_of_one_pattern_is_refused_by_choose_plan():
    with pytest.raises(ArgumentError, match="share= for one pattern"):
        ck.choose_plan(PATTERN, STATISTICS, share="none")


@pytest.mark.parametrize("verb", [ck.choose_plan, ck.compare_plans])
@pytest.mark.parametrize("pattern", [PATTERN, BOTH])
def test_statistics_of_another_type_are_refused(verb, pattern):
    with pytest.raises(StatisticsError, match=r"a dict instead of statistics(.|\n)*profile"):
        verb(pattern, {"a": 1})


def test_several_patterns_are_drawn_as_their_common_parts(monkeypatch):
    import cepkit.figures

    drawn = []
    monkeypatch.setattr(cepkit.figures, "draw", lambda value, **_: drawn.append(value))
    queries = [ck.parse(text) for text in BOTH]
    for patterns in (BOTH, queries, tuple(queries), dict(zip("pq", BOTH, strict=True))):
        ck.draw(patterns)
    assert all(isinstance(graph, PatternGraph) for graph in drawn)
    assert [graph.names for graph in drawn[-2:]] == [("pattern 1", "pattern 2"), ("p", "q")]
