"""Kleene closure in the columnar engine: every set, the largest, and their number."""

from __future__ import annotations

import warnings
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.backend import Backend
from cepkit.columnar.matches import Matches
from cepkit.pattern.policies import Strategy
from cepkit.stream.stream import events
from tests.properties.test_engine import found, plans
from tests.strategies import Case, as_table, cases, result_of

SETS = cases(
    ("SEQ", "AND", "OR", "NOT", "KL"),
    max_variables=5,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    unsorted=True,
)


@pytest.mark.parametrize("backend", get_args(Backend))
@given(data=st.data())
def test_any_order_and_any_slices_find_every_set(backend: Backend, data: st.DataObject) -> None:
    case = data.draw(SETS)
    plan = data.draw(plans(case))
    rows = data.draw(st.sampled_from([None, 1, 3, 7]))
    assert found(case, plan, backend=backend, slice_rows=rows) == case.matches
