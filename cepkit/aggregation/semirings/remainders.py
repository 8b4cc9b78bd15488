"""Integers from their remainders modulo primes (the Chinese remainder theorem).

If numbers outgrow 64 bits, loops run once for each of several 31-bit primes, and the results are
combined to Python integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

Wide = npt.NDArray[np.int64]
Big = npt.NDArray[np.object_]


def primes_for(bound: float) -> list[int]:
    """Return primes whose product distinguishes integers up to a bound, negative ones included."""
    bits = math.log2(max(bound, 1.0)) + 2
    return list(islice(_primes(), math.ceil(bits / 30.9)))


def _primes() -> Iterator[int]:
    """Yield primes from 2 ** 31 downwards."""
    for candidate in range(2**31 - 1, 2**30, -2):
        if _is_prime(candidate):
            yield candidate


def _is_prime(n: int) -> bool:
    """Return whether an odd number below 2 ** 32 is prime (Miller and Rabin; these bases do)."""
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 7, 61):
        power = pow(base, odd, n)
        if power not in (1, n - 1) and all(
            (power := power * power % n) != n - 1 for _ in range(twos - 1)
        ):
            return False
    return True


def joined(remainders: Sequence[npt.NDArray[Any]], primes: Sequence[int]) -> Big:
    """Return the integers nearest to zero with these remainders.

    Args:
        remainders: An array for each prime, all of one shape.
    """
    product = math.prod(primes)
    result = np.zeros(remainders[0].shape, dtype=object)
    for each, prime in zip(remainders, primes, strict=True):
        others = product // prime
        factor = others * pow(others, -1, prime)
        result = result + (each % prime).astype(object) * factor
    result = result % product
    return np.where(result > product // 2, result - product, result)
