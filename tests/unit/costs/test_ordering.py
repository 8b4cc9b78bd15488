import math
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.costs.contract import share_factorials
from tests.unit.costs.cases import absent, branch, conjunction, seq


def share(one, names):
    """The share of the orderings of some variables of a branch that it allows."""
    chosen = sum(1 << one.variables.index(v) for v in names)
    found = Fraction(1)
    for mask, power in share_factorials(one.variables, one.order):
        found *= Fraction(math.factorial((mask & chosen).bit_count())) ** power
    return found


def share_by_trying(variables, order):
    allowed = sum(
        all(p.index(x) < p.index(y) for x, y in order if x in p and y in p)
        for p in permutations(variables)
    )
    return Fraction(allowed, math.factorial(len(variables)))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 12, 22])
def test_seq_has_one_ordering_of_all(size):
    one = branch(seq(*(f"v{i}" for i in range(size))))
    assert share(one, one.variables) == Fraction(1, math.factorial(size))


def test_and_allows_every_ordering():
    assert share(branch(conjunction("a", "b", "c")), "abc") == 1


def test_part_of_a_sequence_has_the_share_of_a_sequence():
    assert share(branch(seq("a", "b", "c", "d")), "ad") == Fraction(1, 2)


def test_negated_variables_do_not_count():
    assert share(branch(seq("a", absent("b"), "c")), "ac") == Fraction(1, 2)


def test_twenty_variables_in_two_sequences_are_fast():
    left, right = [f"l{i}" for i in range(10)], [f"r{i}" for i in range(10)]
    one = branch(conjunction(seq(*left), seq(*right)))
    assert share(one, one.variables) == Fraction(1, math.factorial(10) ** 2)


@st.composite
def nested(draw, names):
    """SEQ and AND of the names, nested."""
    if len(names) == 1:
        return names
    cut = draw(st.integers(1, len(names) - 1))
    combine = draw(st.sampled_from([seq, conjunction]))
    return combine(draw(nested(names[:cut])), draw(nested(names[cut:])))


@given(nested("abcde"), st.sets(st.sampled_from("abcde"), min_size=1))
def test_any_part_of_any_nesting_as_by_trying(structure, chosen):
    one = branch(structure)
    assert share(one, chosen) == share_by_trying(sorted(chosen), one.order)
