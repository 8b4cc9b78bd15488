"""Correlations of arrays: standardising once for each event gives the results of each pair."""

from __future__ import annotations

import numpy as np
import pytest

from cepkit.errors import PatternError
from cepkit.pattern.conditions import Attribute
from cepkit.pattern.evaluation.functions.correlation import correlations
from cepkit.stream.columns import Column

PLACE = Attribute("a", "history")


def arrays(rows: int, width: int, seed: int) -> Column:
    values = np.random.default_rng(seed).normal(size=(rows, width))
    values[0] = np.nan  # missing
    values[1] = 3.0  # constant
    values[2, -1] = np.nan  # shorter
    return Column("array", values, has_missing=True)


@pytest.mark.parametrize("widths", [(5, 5), (5, 3)])
def test_correlations_of_picked_rows_equal_those_of_taken_rows(widths: tuple[int, int]) -> None:
    left, right = (arrays(8, width, seed) for seed, width in enumerate(widths))
    i, j = (side.ravel() for side in np.indices((8, 8)))
    picked = correlations(left.pick(i), right.pick(j), PLACE)
    taken = correlations(left.take(i), right.take(j), PLACE)
    np.testing.assert_array_equal(picked.values, taken.values)
    # Only with a missing or a constant one, or one of another length, there is none.
    assert bool(np.isnan(taken.values).any())
    assert bool(np.isnan(taken.values).all()) == (widths[0] != widths[1])


def test_correlations_equal_those_of_numpy() -> None:
    left, right = arrays(8, 5, seed=3), arrays(8, 5, seed=4)
    rows = np.arange(3, 8)
    found = correlations(left.pick(rows), right.pick(rows), PLACE).values
    expected = [
        np.corrcoef(x, y)[0, 1] for x, y in zip(left.values[3:], right.values[3:], strict=True)
    ]
    np.testing.assert_allclose(found, expected)


def test_correlation_of_numbers_is_refused() -> None:
    numbers = Column("float", np.arange(4.0)).pick(np.array([0, 0, 1]))
    with pytest.raises(PatternError, match="corr of a float"):
        correlations(numbers, numbers, PLACE)
