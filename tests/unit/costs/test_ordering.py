from fractions import Fraction
from itertools import permutations
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.costs.ordering import ordering_share
from tests.unit.costs.cases import absent, branch, conjunction, seq


def share_by_trying(variables, order):
    allowed = sum(
        all(p.index(x) < p.index(y) for x, y in order if x in p and y in p)
        for p in permutations(variables)
    )
    return Fraction(allowed, factorial(len(variables)))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 12, 22])
def test_seq_has_one_ordering_of_all(size):
    one = branch(seq(*(f"v{i}" for i in range(size))))
    assert ordering_share(frozenset(one.variables), one.order) == Fraction(1, factorial(size))


def test_and_allows_every_ordering():
    one = branch(conjunction("a", "b", "c"))
    assert ordering_share(frozenset("abc"), one.order) == 1


def test_a_part_of_a_sequence_is_a_sequence():
    one = branch(seq("a", "b", "c", "d"))
    assert ordering_share(frozenset("ad"), one.order) == Fraction(1, 2)


def test_negated_variables_do_not_count():
    one = branch(seq("a", absent("b"), "c"))
    assert ordering_share(frozenset(one.variables), one.order) == Fraction(1, 2)


def test_nested_orders_fall_apart():
    one = branch(seq("a", conjunction("b", seq("c", "d")), "e"))
    assert ordering_share(frozenset("abcde"), one.order) == share_by_trying("abcde", one.order)


def test_twenty_variables_in_two_sequences_are_fast():
    left, right = [f"l{i}" for i in range(10)], [f"r{i}" for i in range(10)]
    one = branch(conjunction(seq(*left), seq(*right)))
    expected = Fraction(1, factorial(10) ** 2)
    assert ordering_share(frozenset(one.variables), one.order) == expected


def test_an_order_that_does_not_fall_apart():
    n_shaped = frozenset({("a", "c"), ("b", "c"), ("b", "d")})
    assert ordering_share(frozenset("abcd"), n_shaped) == Fraction(5, 24)


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda p: p[0] < p[1])))
def test_any_order_as_by_trying(pairs):
    order = set(pairs)
    for middle in range(5):
        before = [x for x, y in order if y == middle]
        order |= {(x, y) for x in before for z, y in order if z == middle}
    named = frozenset(("abcde"[x], "abcde"[y]) for x, y in order)
    for size in range(1, 6):
        chosen = "abcde"[:size]
        assert ordering_share(frozenset(chosen), named) == share_by_trying(chosen, named)
