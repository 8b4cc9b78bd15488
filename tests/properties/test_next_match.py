"""skip-till-next-match takes the judge's matches, by both methods and for every plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.skip_till_next import batches as next_match_batches
from cepkit.columnar.skip_till_next import detection
from cepkit.pattern import conditions as c
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from tests.loops import Way
from tests.properties.test_engine import CONDITIONS, found, plans, tree_plans
from tests.strategies import cases

NEXT = (Strategy.SKIP_TILL_NEXT_MATCH,)
OPERATORS = ("SEQ", "AND", "OR", "NOT", "FIRST", "NEXT", "OPT")
ANYTHING = cases(OPERATORS, strategies=NEXT, condition_kinds=CONDITIONS, unsorted=True)
SETS = cases((*OPERATORS, "KL"), strategies=NEXT, unsorted=True)
SEARCHED = cases(
    OPERATORS,
    strategies=NEXT,
    condition_kinds=("filter", "comparison", "equality", "truth", "duration"),
)


def with_residual(draw: st.DrawFn, query: Query) -> Query:
    """Draw one more condition, a residual predicate over several variables."""
    branch = draw(st.sampled_from(normal_form(query)))
    first, second, third = [*draw(st.permutations(branch.variables)), *branch.variables * 2][:3]
    x, y, z = c.Attribute(first, "x"), c.Attribute(second, "y"), c.Attribute(third, "z")
    total = c.Arithmetic(draw(st.sampled_from("+-*/")), x, y)
    condition = draw(
        st.sampled_from(
            (
                c.Comparison("!=", x, y),
                c.Comparison("<=", total, z),
                c.Comparison("<", c.Call("abs", (total,)), c.Literal(2)),
                c.AnyOf((c.Comparison("<", x, y), c.IsNull(total), c.Comparison(">", y, z))),
                c.AnyOf((c.Comparison("<", x, c.Literal(2)), c.Comparison("=", x, z))),
                c.InList(total, (z, c.Literal(3)), draw(st.booleans())),
            )
        )
    )
    where = condition if query.where is None else c.AllOf((query.where, condition))
    return replace(query, where=where)


RESIDUAL = cases(
    OPERATORS, strategies=NEXT, condition_kinds=("comparison", "equality"), change=with_residual
)
SLICES = st.sampled_from([None, 1, 3, 7])


@pytest.mark.parametrize("way", ["numpy", "python"])
@pytest.mark.parametrize(
    "drawn",
    [ANYTHING, SEARCHED, RESIDUAL, SETS],
    ids=["anything", "what searches can decide", "residual predicates", "sets"],
)
@given(data=st.data())
def test_both_methods_take_the_judges_matches(
    drawn: st.SearchStrategy, way: Way, data: st.DataObject
) -> None:
    case = data.draw(drawn)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    assert found(case, plan, way=way, slice_rows=data.draw(SLICES)) == case.matches


@pytest.mark.parametrize("drawn", [ANYTHING, SETS], ids=["anything", "sets"])
@given(data=st.data(), held=st.sampled_from([0, 1, 5, 1 << 20]), tried=st.sampled_from([1, 20]))
def test_batches_of_any_size_take_the_judges_matches(
    drawn: st.SearchStrategy, held: int, tried: int, data: st.DataObject
) -> None:
    case = data.draw(drawn)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detection, "search_programs", lambda branches: None)
        patch.setattr(next_match_batches, "HELD", held)
        patch.setattr(next_match_batches, "TRIED", tried)
        assert found(case, plan, slice_rows=data.draw(SLICES)) == case.matches


@pytest.mark.parametrize(
    "drawn",
    [ANYTHING, SEARCHED, RESIDUAL],
    ids=["anything", "what searches can decide", "residual predicates"],
)
@given(data=st.data(), trial=st.sampled_from([1, 2, 5]), held=st.sampled_from([0, 1, 1 << 16]))
def test_methods_can_change_at_any_event(
    drawn: st.SearchStrategy, trial: int, held: int, data: st.DataObject
) -> None:
    case = data.draw(drawn)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detection, "PATIENCE", 0)  # each search is compared with a batch
        patch.setattr(detection, "TRIAL", trial)
        patch.setattr(detection, "STRETCH", trial)
        patch.setattr(next_match_batches, "TRIAL_HELD", held)
        assert found(case, plan, slice_rows=data.draw(SLICES)) == case.matches
