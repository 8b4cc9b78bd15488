"""Patterns in disguise have the canonical form of the pattern; equal forms have equal matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cepkit.pattern.canonical import canonical
from cepkit.pattern.normal_form import Branch, normal_form
from tests.disguise import disguised
from tests.judge import judge
from tests.strategies import Case, cases

if TYPE_CHECKING:
    from cepkit.pattern.query import Query

CASES = cases(("SEQ", "AND", "NOT", "KL"), max_events=16)


@given(CASES, st.data())
def test_equal_forms_have_equal_matches(case: Case, data: st.DataObject) -> None:
    """The judge finds the same matches of a query in disguise, up to the names by position."""
    changed = disguised(data.draw, case.query)
    (form, names), (other, others) = (canonical(_branch(query)) for query in (case.query, changed))
    assert form == other
    back = dict(zip(others, names, strict=True))
    matches = judge(case.events, changed)
    assert {frozenset((back[v], e) for v, e in match) for match in matches} == case.matches


@given(CASES, st.data())
def test_sub_patterns_do_not_depend_on_names(case: Case, data: st.DataObject) -> None:
    """Some variables of a query have the form of the same ones in disguise."""
    branch = _branch(case.query)
    _, names = canonical(branch)
    changed = _branch(disguised(data.draw, case.query))
    _, others = canonical(changed)
    chosen = data.draw(st.sets(st.sampled_from(range(len(names))), min_size=1))
    one, _ = canonical(branch, [names[place] for place in chosen])
    other, _ = canonical(changed, [others[place] for place in chosen])
    assert one == other


def _branch(query: Query) -> Branch:
    (branch,) = normal_form(query)
    return branch
