"""AFTER MATCH SKIP leaves the judge's matches, for every plan, slicing and set."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepkit.columnar.after_match as selection
from cepkit.columnar.results.matches import Matches
from cepkit.errors import PatternError
from cepkit.pattern.checks import check
from cepkit.pattern.policies import AfterMatch, SkipTo, Strategy
from cepkit.pattern.query import Query
from cepkit.stream.stream import events
from tests.properties.test_engine import plans
from tests.strategies import as_table, cases, result_of


def with_skip(draw: st.DrawFn, query: Query) -> Query:
    """Draw the place where the next match may start."""
    skips = [AfterMatch(SkipTo.PAST_LAST_EVENT), AfterMatch(SkipTo.NEXT)]
    bound = [AfterMatch(to, name) for to in (SkipTo.FIRST, SkipTo.LAST) for name in "bcd"]
    try:
        return check(replace(query, after_match=draw(st.sampled_from([*skips, *bound]))))
    except PatternError:
        assume(False)
        raise


CASES = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "OPT"),
    max_variables=4,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    max_events=24,
    unsorted=True,
    change=with_skip,
)


@given(data=st.data())
def test_skip_leaves_the_judges_matches_for_any_plan_and_slices(data: st.DataObject) -> None:
    case = data.draw(CASES)
    plan = data.draw(plans(case))
    rows = data.draw(st.sampled_from([None, 1, 3, 7]))
    stream = events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of types that never occur
        patch.setattr(selection, "_HELD", data.draw(st.sampled_from([1, 5, 1 << 20])))
        matches = Matches(stream, case.query, plan, slice_rows=rows)
        assert result_of(matches.to_arrow(), case.variables) == case.matches
        assert matches.count() == len(case.matches)
