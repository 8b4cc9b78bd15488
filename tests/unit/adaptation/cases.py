"""Patterns of given conditions, random statistics of them, and drifts."""

import math

import cepkit as ck
from cepkit.pattern.query import Query
from cepkit.statistics import Statistics

NAMES = "abcdefg"


def sequence(n: int, pairs=(), *, operator: str = "SEQ", window: str = "1 second") -> Query:
    """Return a pattern of n variables with conditions between some pairs."""
    names = NAMES[:n]
    where = " AND ".join(f"{x}.p < {y}.p" for x, y in pairs)
    events = ", ".join(f"{v.upper()} {v}" for v in names)
    return ck.parse(
        f"PATTERN {operator}({events}) {f'WHERE {where} ' if where else ''}WITHIN {window}"
    )


def random_case(rng, *, most: int = 7) -> tuple[Query, Statistics]:
    """Return a random pattern, with rates and selectivities."""
    n = rng.randint(3, most)
    names = NAMES[:n]
    pairs = [(x, y) for i, x in enumerate(names) for y in names[i + 1 :]]
    chosen = sorted(rng.sample(pairs, n // 2))
    rates = {v: math.exp(rng.uniform(0, math.log(45))) for v in names}
    shares = {pair: math.exp(rng.uniform(math.log(0.003), 0)) for pair in chosen}
    query = sequence(n, chosen, operator=rng.choice(("SEQ", "AND")))
    return query, Statistics.assumed(rates, shares)


def drifted(rng, statistics: Statistics, sigma: float) -> Statistics:
    """Return statistics that have drifted a little."""
    rates = {v: r * math.exp(rng.gauss(0, sigma)) for v, r in statistics.rates.items()}
    shares = {
        tuple(sorted(names)): min(1.0, s.share * math.exp(rng.gauss(0, sigma)))
        for names, s in statistics.selectivities.items()
    }
    return Statistics.assumed(rates, shares)
