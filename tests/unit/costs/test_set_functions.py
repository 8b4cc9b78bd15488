import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cepkit.costs.contract import SetFunction

LOGS = st.sampled_from([-math.inf, -2.5, 0.0, 0.3, 7.0])


@st.composite
def functions(draw):
    n = draw(st.integers(1, 5))
    masks = st.integers(1, 2**n - 1)
    return SetFunction(
        tuple(draw(LOGS) for _ in range(n)),
        tuple(draw(st.lists(st.tuples(masks, LOGS), max_size=4))),
        tuple(draw(st.lists(st.tuples(masks, st.sampled_from([-1, 1, 2])), max_size=3))),
        weight=draw(LOGS),
        further=draw(LOGS),
        least=draw(st.booleans()),
        classes=tuple(draw(st.lists(classes(masks), max_size=2))),
    )


def classes(masks):
    return st.tuples(masks, st.lists(masks, max_size=3).map(tuple), st.sampled_from([-2.5, 0.3]))


@given(functions())
def test_table_equals_the_function_on_every_subset(function):
    one_by_one = [function(mask) for mask in range(1 << len(function.members))]
    np.testing.assert_allclose(function.table(), one_by_one, rtol=1e-12, atol=1e-12)


def test_by_hand():
    function = SetFunction((1.0, 2.0, 4.0), ((0b011, 8.0),), ((0b111, -1),), 16.0, 32.0)
    assert function(0b000) == 0
    assert function(0b001) == 1 + 16
    assert math.isclose(function(0b111), 7 + 8 - math.log(6) + 16 + 2 * 32)
    assert math.isclose(function(0b110), 6 - math.log(2) + 16 + 32)


def test_the_least_member_counts_alone():
    assert SetFunction((3.0, 1.0, 2.0), least=True)(0b101) == 2.0


def test_times_multiplies_a_set_function():
    assert math.isclose(SetFunction((1.0,)).times(math.e)(1), 2.0)
    assert SetFunction((1.0,)).times(0)(1) == -math.inf
