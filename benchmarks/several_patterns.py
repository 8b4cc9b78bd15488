"""Workloads of many patterns, drawn as MULTI draws them, over minute bars or a generated stream.

A pattern is a SEQ, less often an AND, of some distinct types, with a condition
`x.diff + k < y.diff` for about every second variable. The constant of a pair of types is the same
in all patterns, so that patterns agree now and then; its selectivity is drawn between 0.003 and
0.92, as in the source. Patterns that are expected to keep very many partial matches, even under
their best order, are drawn again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.datasets import nasdaq
from benchmarks.streams import zipf_events
from cepkit.costs.partial_matches import PARTIAL_MATCHES
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from cepkit.planners.choose import choose_plan
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream, events

SELECTIVITIES = (0.003, 0.92)
"""The range that MULTI measured."""


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that patterns are drawn over.

    Attributes:
        name: What tables call it.
        stream: Its events.
        rates: Events of each type in a second.
        seconds: From the first event to the last.
        offsets: For each pair of types the constant of their condition.
        selectivities: For each pair of types the share of pairs for which it holds.
    """

    name: str
    stream: Stream
    rates: Mapping[str, float]
    seconds: float
    offsets: Mapping[tuple[str, str], float]
    selectivities: Mapping[tuple[str, str], float]


def minute_bars() -> Source:
    """Return the minute bars of seven tickers; `diff` is the rise of the close."""
    frame = nasdaq()
    table = pa.table(
        {
            "ts": pa.array(frame["timestamp"], pa.timestamp("us")),
            "type": frame["ticker"],
            "diff": frame["difference"].fillna(0.0),
        }
    )
    return source("nasdaq-minute", table)


def generated(n: int, pool: Sequence[str] | None = None, gap_ms: float = 5.0) -> Source:
    """Return a stream of `n` events of 50 types.

    Args:
        n: How many.
        pool: The types that patterns are drawn of; None for eleven of them.
        gap_ms: Milliseconds from an event to the next, on average.
    """
    chosen = [f"T{rank:02d}" for rank in range(3, 44, 4)] if pool is None else pool
    return source(f"generated, {n:,} events", zipf_events(n, mean_gap_ms=gap_ms), chosen)


def source(name: str, table: pa.Table, pool: Sequence[str] | None = None) -> Source:
    """Return a table as a stream to draw patterns over.

    Args:
        name: What tables call it.
        table: Columns ts, type and diff.
        pool: The types that patterns are drawn of; None for all.
    """
    draw, rng = random.Random(0), np.random.default_rng(0)
    ts = table["ts"].cast(pa.timestamp("us")).to_numpy().astype(np.int64)
    types = table["type"].to_numpy(zero_copy_only=False).astype(str)
    diff = table["diff"].to_numpy()
    seconds = float(ts[-1] - ts[0]) / 1e6
    values = {kind: diff[types == kind] for kind in (pool or map(str, sorted(set(types))))}
    low, high = map(math.log, SELECTIVITIES)
    offsets, shares = {}, {}
    for pair in permutations(values, 2):
        offsets[pair] = offset(values, *pair, math.exp(draw.uniform(low, high)))
        shares[pair] = max(float((_gaps(values, *pair, rng) > offsets[pair]).mean()), 1e-4)
    rates = {kind: len(each) / seconds for kind, each in values.items()}
    return Source(name, events(table, time="ts", type="type"), rates, seconds, offsets, shares)


def offset(values: Mapping[str, npt.NDArray[np.float64]], x: str, y: str, share: float) -> float:
    """Return the k for which `x.diff + k < y.diff` holds for that share of pairs."""
    gaps = _gaps(values, x, y, np.random.default_rng(0))
    return round(float(np.quantile(gaps, 1 - share)), 4)


def _gaps(
    values: Mapping[str, npt.NDArray[np.float64]], x: str, y: str, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    return rng.choice(values[y], 10_000) - rng.choice(values[x], 10_000)


def drawn(
    given: Source,
    n: int,
    window: float,
    *,
    size: int = 5,
    most: float = 1e7,
    seed: int = 0,
    operators: float = 0.0,
) -> list[Query]:
    """Return patterns over a stream, all of one window.

    Args:
        given: The stream.
        n: How many patterns.
        window: The window in seconds.
        size: About how many events each has: one less, as many, or one more.
        most: The most partial matches that its best order may keep, in the whole stream.
        seed: The seed of the draw.
        operators: The share of patterns of which one event, neither the first nor the last, is
            under NOT or under KL with one or two events.
    """
    rng = random.Random(seed)
    names = sorted(given.rates)
    pairs = {frozenset(p): rng.choice([p, p[::-1]]) for p in combinations(names, 2)}
    texts: dict[str, Query] = {}
    while len(texts) < n:
        count = min(size + rng.randint(-1, 1), len(names))
        types = rng.sample(names, count)
        operator = "SEQ" if rng.random() < 0.7 else "AND"
        if operator == "AND":
            types.sort()
        linked = rng.sample(list(combinations(types, 2)), max(1, count // 2))
        conditions = [pairs[frozenset(pair)] for pair in linked]
        around: dict[str, str] = {}
        if operators and rng.random() < operators and len(types) > 2:
            around = {rng.choice(types[1:-1]): rng.choice(["NOT({})", "KL({}){{1,2}}"])}
        offsets = {p: given.offsets[p] for p in conditions}
        text = pattern_text(operator, types, offsets, window, around)
        if text in texts:
            continue
        query = parse(text)
        known = Statistics.assumed(
            {kind.lower(): given.rates[kind] for kind in types},
            {(x.lower(), y.lower()): given.selectivities[x, y] for x, y in conditions},
        )
        cost = choose_plan(query, known, "dp-order", PARTIAL_MATCHES).cost
        if cost is not None and cost * given.seconds / window <= most:
            texts[text] = query
    return list(texts.values())


def with_core(table: pa.Table, n: int, window: float) -> list[Query]:
    """Return patterns that begin with the same selective pair, each with a last event of its own.

    Args:
        table: Columns type and diff, of `zipf_events`.
        n: How many patterns, at most 40.
        window: In seconds.
    """
    types = table["type"].to_numpy(zero_copy_only=False).astype(str)
    diff = table["diff"].to_numpy()
    last = [f"T{rank:02d}" for rank in range(11, 11 + n)]
    values = {kind: diff[types == kind] for kind in ("T03", "T04", *last)}
    core = offset(values, "T03", "T04", 0.003)
    return [
        parse(
            pattern_text(
                "SEQ",
                ["T03", "T04", kind],
                {("T03", "T04"): core, ("T04", kind): offset(values, "T04", kind, 0.02)},
                window,
            )
        )
        for kind in last
    ]


def pattern_text(
    operator: str,
    types: Sequence[str],
    offsets: Mapping[tuple[str, str], float],
    window: float,
    around: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the text of a pattern whose variables are its types in small letters.

    Args:
        operator: SEQ or AND.
        types: The types of the events.
        offsets: The constant of the condition between two types.
        window: The window in seconds.
        around: The text around the event of a type, as "NOT({})".
    """
    body = ", ".join(around.get(kind, "{}").format(f"{kind} {kind.lower()}") for kind in types)
    where = " AND ".join(
        f"{x.lower()}.diff + {k!r} < {y.lower()}.diff" for (x, y), k in offsets.items()
    )
    return f"PATTERN {operator}({body}) WHERE {where} WITHIN {round(window * 1000)} ms"
