"""Distinct values are numbered as pandas does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cepkit.indexing import value_codes

RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, -1, 3, 7, -1]),
        np.array([0.0, np.nan, -0.0, 1.5, np.nan, np.inf, -np.inf]),
        np.array([0.5, np.nan], np.float32),
        np.array([True, False, True]),
        np.array([2, 2, -2], np.int32),
        np.array([2**64 - 1, 0, 2**63], np.uint64),
        np.empty(0),
        np.arange(30_000) // 2 * 2**40,
        np.arange(30_000)[::3],
        RNG.integers(-(2**63), 2**63 - 1, 50_000),
        np.append(RNG.normal(size=50_000), np.nan),
        np.ldexp(1.0, RNG.integers(-1000, 1000, 20_000)),
    ],
)
def test_values_are_numbered_in_the_order_in_which_they_occur(values):
    codes, number = value_codes(values)
    expected, kinds = pd.factorize(values)
    assert (codes.tolist(), number, codes.dtype) == (expected.tolist(), len(kinds), np.int32)
