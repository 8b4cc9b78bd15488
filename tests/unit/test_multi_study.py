"""The patterns, runs and sums of MULTI's study; its measurements themselves are no test."""

import json
import math

import pytest

from benchmarks import multi_study
from benchmarks.multi_runs import BASE, SEARCHED, WAYS, gains, mean, measured
from benchmarks.multi_study import Extent, Market, best_at, over, searched
from benchmarks.several_patterns import drawn, generated
from benchmarks.sharing_searches import STUDIED
from cepkit import profile
from cepkit.costs.work import WORK
from cepkit.pattern.nodes import Kleene, Not, events_of
from cepkit.sharing.plan_graph import Prepared
from cepkit.sharing.searches import SEARCHES, GreedyMerge, Tabu
from cepkit.sharing.workload import Workload


@pytest.fixture(scope="module")
def given():
    return generated(3000, gap_ms=900.0)


def test_a_share_of_the_patterns_has_an_event_under_not_or_kl(given):
    def kinds(query):
        return [type(part) for part in query.structure.items if isinstance(part, Not | Kleene)]

    plain = drawn(given, 15, 900.0, most=1e5, seed=3)
    assert not any(map(kinds, plain))
    queries = drawn(given, 15, 900.0, most=1e5, seed=3, operators=0.4)
    assert queries == drawn(given, 15, 900.0, most=1e5, seed=3, operators=0.4)
    assert queries != drawn(given, 15, 900.0, most=1e5, seed=4, operators=0.4)
    found = [kind for query in queries for kind in kinds(query)]
    assert {Not, Kleene} == {*found}
    assert 2 <= len(found) <= 12
    for query in queries:
        assert len(kinds(query)) <= 1
        first, *_, last = query.structure.items
        assert not {type(first), type(last)} & {Not, Kleene}
        assert all(len(event.types) == 1 for event in events_of(query.structure))


def test_every_search_of_the_shelf_is_measured_but_the_exact_one():
    assert WAYS[0] is SEARCHED[0] is BASE
    assert {way.search for way in (*WAYS, *SEARCHED)} == {*SEARCHES, *STUDIED} - {"exact"}
    for ways in (WAYS, SEARCHED):
        assert len({way.name for way in ways}) == len(ways)


@pytest.mark.slow
def test_all_ways_are_measured_with_costs_and_candidates(given):
    queries = drawn(given, 4, 900.0, size=3, most=1e4, seed=1)
    rows = {row["way"]: row for row in measured(given, queries, WAYS, 1)}
    assert [*rows] == [way.name for way in WAYS]
    for row in rows.values():
        assert 0 < row["seconds"] < math.inf
        assert row["peak MB"] > 0
    text, shared = rows[BASE.name], rows["sharing only (SH)"]
    assert shared["candidates"] <= text["candidates"]
    assert rows["own plans, equal once"]["candidates"] <= rows["own plans, apart"]["candidates"]
    own = rows["own plans, apart"]["cost"]
    assert own <= rows["reordering (RE)"]["cost"]
    assert own <= text["cost"]


def test_workload_expected_to_take_too_long_is_only_planned(given, monkeypatch):
    monkeypatch.setattr("benchmarks.multi_runs.MOST", 0.0)
    queries = drawn(given, 2, 900.0, size=3, most=1e4, seed=1)
    (row,) = measured(given, queries, [BASE], 2)
    assert row["cost"] > 0
    assert row["seconds"] is row["candidates"] is row["peak MB"] is None
    (told,) = gains([row | {"seed": 0, "stream": "s"}], ["stream"])
    assert told["x cost"] == 1
    assert told["x time"] is told["ms"] is None


def _row(way, seed, seconds, cost, candidates=10):
    return {
        "stream": "s", "seed": seed, "way": way, "seconds": seconds, "cost": cost,
        "candidates": candidates, "partial matches": 0, "peak MB": 2.0, "planning s": 0.5,
    }  # fmt: skip


def test_gains_are_geometric_means_over_the_seeds_against_the_order_of_the_text():
    rows = [
        _row(BASE.name, 0, 8.0, 100.0),
        _row("other", 0, 1.0, 50.0, 0),
        _row(BASE.name, 1, 8.0, 100.0),
        _row("other", 1, 4.0, 12.5, 1),
    ]
    base, other = gains(rows, ["stream"])
    assert (base["way"], base["x time"], base["x cost"]) == (BASE.name, 1, 1)
    assert other["stream"] == "s"
    assert other["x time"] == pytest.approx(4)
    assert other["x cost"] == pytest.approx(4)
    assert other["x candidates"] == pytest.approx(10)
    assert other["x partial matches"] == 1
    assert other["ms"] == pytest.approx(2000)
    assert mean([2.0, 8.0]) == pytest.approx(4)
    assert math.isnan(mean([]))


def test_the_best_cost_after_some_seconds():
    assert best_at([(0.1, 9.0), (0.5, 7.0), (2.0, 7.5)], (0.05, 0.1, 1, 9)) == [None, 9.0, 7.0, 7.0]


def test_searches_are_compared_with_separate_plans(given):
    queries = drawn(given, 5, 900.0, size=3, most=1e4, seed=1)
    known = profile(given.stream, queries)
    workload = Workload.of(queries, [known.of(query) for query in queries])
    for search in (GreedyMerge(), Tabu(steps=2, width=3)):
        row = searched(Prepared(workload, WORK, "order"), search)
        assert row["% less"] >= 0
        assert row["neighbours"] > 0
        assert row["seconds"] > 0


def test_tables_are_of_each_stream_value_and_seed(given, monkeypatch):
    monkeypatch.setattr(multi_study, "markets", lambda _: (Market(given, 1e4),))
    extent = Extent(runs=1, seeds=(0, 1))
    rows = over(extent, "events", (3, 4), lambda m, size, s: m.patterns(2, 15, s, size), [BASE])
    assert [(row["events"], row["seed"]) for row in rows] == [(3, 0), (3, 1), (4, 0), (4, 1)]


@pytest.mark.slow
def test_results_are_printed_and_written_as_json(given, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(multi_study, "markets", lambda _: (Market(given, 1e4),))
    small = Extent(seeds=(0,), runs=1, minutes=(15,), patterns=2)
    monkeypatch.setattr(multi_study, "QUICK", small)
    multi_study.main(["--quick", "--only", "windows", "--seeds", "5", "--out", str(tmp_path)])
    assert "prefixes, greedy-merge" in capsys.readouterr().out
    written = json.loads((tmp_path / "multi_windows.json").read_text())
    assert written["extent"]["seeds"] == [5]
    assert {row["seed"] for row in written["runs"]} == {5}
    assert [row["way"] for row in written["means"]] == [way.name for way in WAYS]
    with pytest.raises(SystemExit):
        multi_study.main(["--only", "nothing"])
    assert "there are: patterns, windows" in capsys.readouterr().err
