"""Random walks meet the judge's matches, each with the probability that its weight says."""

from collections import Counter

import numpy as np
from hypothesis import given, reject

import cepkit as ck
from cepkit.columnar.results import sampled
from cepkit.errors import UnsupportedError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.plan.nodes import Plan
from cepkit.statistics.measuring.walks import Walks, check_walks
from cepkit.statistics.slice_events import Events
from cepkit.statistics.stream_counts import attributes_read
from tests.strategies import as_table, cases, result_of

CASES = cases(
    ("SEQ", "AND", "OR", "NOT", "FIRST", "OPT"),
    max_variables=4,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    windows=("none", "time", "time-exclusive"),
    max_events=25,
)
WALKS = 10_000


def stream_of(case):
    try:
        check_walks(case.query, "sample=")
    except UnsupportedError:
        reject()
    return ck.events(as_table(case.events), time="ts", type="kind")


@given(CASES)
def test_walks_meet_all_matches_as_often_as_weights_say(case):
    columns = stream_of(case).columns({*attributes_read(case.query), "id"})
    arrival = columns.attributes["id"].values
    met = Counter()
    for branch in normal_form(case.query):
        walks = Walks(Events(columns, branch.partition_by), branch)
        rows, weights = walks.draw(np.random.default_rng(0), WALKS)
        assert (weights <= walks.bound * (1 + 1e-12)).all()
        names = sorted(rows)
        table = np.stack([arrival[rows[v]] for v in names], axis=1)
        for match, weight in zip(table.tolist(), weights.tolist(), strict=True):
            met[frozenset(zip(names, match, strict=True))] += weight / WALKS
        # A match of weight w is met WALKS / w times, plus or minus a few roots of that.
        for match, share in met.items():
            if {v for v, _ in match} == {*names}:
                own = weights[(table == [dict(match)[v] for v in names]).all(axis=1)]
                assert own.min() == own.max()
                assert abs(share - 1) < 6 * (own[0] / WALKS) ** 0.5
        if not walks.bound < WALKS / 40:
            return  # a match could be missed
    assert met.keys() == case.matches


@given(CASES)
def test_sample_of_all_matches_has_each_once(case):
    matches = ck.detect(stream_of(case), case.query, sample=len(case.matches) + 1)
    rows = matches.to_arrow()
    assert len(rows) == matches.count() == len(case.matches)
    assert result_of(rows, case.variables) == case.matches


@given(CASES)
def test_sample_by_walks_has_different_matches(case):
    stream, number = stream_of(case), (len(case.matches) + 1) // 2
    few, seconds = sampled._FEW, Plan.seconds
    sampled._FEW, Plan.seconds = 0, None
    try:
        rows = ck.detect(stream, case.query, sample=max(1, number)).to_arrow()
    finally:
        sampled._FEW, Plan.seconds = few, seconds
    found = result_of(rows, case.variables)
    assert len(rows) == len(found) == number
    assert found <= case.matches
