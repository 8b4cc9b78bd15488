"""Patterns over recorded prices: all of a day counted anew with NumPy, a stretch by the judge."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.datasets import absent
from benchmarks.stock_patterns import (
    ASEQ_1,
    ASEQ_2,
    ASEQ_NEXT,
    BARS,
    CASES,
    FOLDERS,
    JOIN_AND,
    JOIN_KL,
    JOIN_NOT,
    JOIN_OR,
    LAZY,
    SKEWED,
    STREAMS,
    TRADES,
    TRADES_KL,
    Case,
)
from cepkit import detect, parse
from cepkit.columnar.results.matches import Matches
from cepkit.pattern.normal_form import normal_form
from cepkit.stream.stream import Stream, events
from tests.judge import Event, judge
from tests.strategies import result_of

WINDOW = 20 * 60 * 1_000_000


def needs(folder: str) -> pytest.MarkDecorator:
    reason = absent(folder)
    return pytest.mark.skipif(reason is not None, reason=str(reason))


@cache
def stream(name: str) -> Stream:
    return STREAMS[name]()


def count(case: Case) -> int:
    matches = detect(stream(case.stream), case.text)
    assert isinstance(matches, Matches)
    return matches.count()


class Ticker:
    """The events of some tickers: times in microseconds, ascending, and columns."""

    def __init__(self, name: str, *tickers: str) -> None:
        frame = stream(name).source
        self.rows = frame[frame["ticker"].isin(tickers)]
        if name == "trades":
            self.ts = self.rows["ts_ms"].to_numpy() * 1_000
        else:
            self.ts = self.rows["timestamp"].astype("datetime64[us]").astype("int64").to_numpy()
        if "difference" in self.rows:
            self.difference = self.rows["difference"].to_numpy()

    def between(self, low: Any, high: Any) -> Any:
        """Count the events after `low` and not after `high`."""
        inside = np.searchsorted(self.ts, high, "right") - np.searchsorted(self.ts, low, "right")
        return np.maximum(inside, 0)

    def correlations(self, other: Ticker) -> Any:
        return self._standard() @ other._standard().T

    def _standard(self) -> Any:
        missing = np.full(20, np.nan)
        histories = [missing if h is None else h for h in self.rows["history"]]
        matrix = np.array(histories) - np.mean(histories, axis=1, keepdims=True)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        return matrix / np.where(norms < 1e-9, np.nan, norms)


@needs(BARS)
def test_correlated_histories() -> None:
    a, b, c = (Ticker("bars", *names) for names in (["AAPL", "MSFT"], ["ORLY", "CBRL"], ["GOOG"]))
    first = (a.correlations(b) > 0.8) & (a.ts[:, None] < b.ts)
    second = (b.correlations(c) > 0.8) & (b.ts[:, None] < c.ts)
    near = (c.ts - a.ts[:, None] <= WINDOW).astype(np.int64)
    assert count(LAZY) == np.einsum("ab,ac,bc->", first, near, second, optimize=True) == 2_670


@needs(BARS)
def test_a_conjunction() -> None:
    m, g, a = (Ticker("bars", name) for name in ("MSFT", "GOOG", "AAPL"))
    fits = m.difference[:, None] < g.difference
    earliest, latest = np.minimum(m.ts[:, None], g.ts), np.maximum(m.ts[:, None], g.ts)
    # From a microsecond before, for `between` leaves its beginning out.
    others = a.between(latest - WINDOW - 1, earliest + WINDOW)
    assert count(JOIN_AND) == (others * fits * (latest - earliest <= WINDOW)).sum()


def sequences(x: Ticker, y: Ticker, z: Ticker) -> Any:
    """Count z's for each x and y of which x is the earlier and rose less."""
    fits = (x.difference[:, None] < y.difference) & (x.ts[:, None] < y.ts)
    return fits * z.between(np.broadcast_to(y.ts, fits.shape), x.ts[:, None] + WINDOW)


@needs(BARS)
def test_a_sequence_with_an_absence() -> None:
    m, g, a = (Ticker("bars", name) for name in ("MSFT", "GOOG", "AAPL"))
    d = Ticker("bars", "DRIV")
    broken = np.zeros((len(m.ts), len(g.ts)), dtype=bool)
    for time, rise in zip(d.ts, d.difference, strict=True):
        broken |= ((m.ts < time) & (rise > m.difference))[:, None] & (time < g.ts)
    assert count(JOIN_NOT) == (sequences(m, g, a) * ~broken).sum()


@needs(BARS)
def test_a_disjunction_of_sequences() -> None:
    branches = (["MSFT", "GOOG", "AAPL"], ["AMZN", "ORLY", "CBRL"], ["DRIV", "AAPL", "AMZN"])
    expected = sum(sequences(*(Ticker("bars", n) for n in names)).sum() for names in branches)
    assert count(JOIN_OR) == expected


@needs(BARS)
def test_sets_of_bars() -> None:
    m, g, a = (Ticker("bars", name) for name in ("MSFT", "GOOG", "AAPL"))
    total = 0
    for time, rise in zip(m.ts, m.difference, strict=True):
        fit = g.ts[(g.ts > time) & (g.difference > rise)]
        ends = a.ts[(a.ts > time) & (a.ts <= time + WINDOW)]
        total += sum(2 ** int(n) - 1 for n in np.searchsorted(fit, ends))
    assert count(JOIN_KL) == total


@needs(TRADES)
@pytest.mark.parametrize("absent", [False, True])
def test_trades_that_are_each_in_one_match(absent: bool) -> None:
    dell, ipix, amat, qqq = (Ticker("trades", n).ts for n in ("DELL", "IPIX", "AMAT", "QQQ"))
    used_dell, used_ipix, found = set(), set(), 0
    for time in amat:
        earliest = np.searchsorted(dell, time - 2_000_000)
        # With an absence no QQQ may lie between the IPIX and the AMAT.
        after = qqq[np.searchsorted(qqq, time) - 1] if absent and qqq[0] < time else 0
        last = np.searchsorted(ipix, time)
        for a in range(earliest, np.searchsorted(dell, time)):
            first = np.searchsorted(ipix, dell[a], "right")
            middle = (b for b in range(first, last) if ipix[b] >= after and b not in used_ipix)
            b = None if a in used_dell else next(middle, None)
            if b is not None:
                used_dell.add(a)
                used_ipix.add(b)
                found += 1
                break
    assert count(ASEQ_NEXT[absent]) == found


@needs(TRADES)
@pytest.mark.parametrize("number", range(3))
def test_sets_of_trades(number: int) -> None:
    window = (500, 2000, 5000)[number]
    a, b, c = (Ticker("trades", name) for name in ("DELL", "IPIX", "AMAT"))
    total = 0
    for time in a.ts:
        ends = c.ts[np.searchsorted(c.ts, time, "right") :]
        ends = ends[: np.searchsorted(ends, time + window * 1_000, "right")]
        between = np.searchsorted(b.ts, ends) - np.searchsorted(b.ts, time, "right")
        total += sum(2 ** int(n) - 1 for n in between if n > 0)
    assert count(TRADES_KL[number]) == total


@needs(BARS)
def test_pattern_that_no_minute_satisfies_has_no_matches() -> None:
    looser = SKEWED.text.replace("b.close > c.close", "b.close < c.close")
    assert count(SKEWED) == 0
    assert count(Case("", SKEWED.stream, looser)) == 256 * 256
    assert count(Case("", SKEWED.stream, "PATTERN SEQ(DRIV a, MSFT b, CBRL c)")) == 0


def chains(window: int) -> Iterator[tuple[Any, Any]]:
    """Yield for each AMAT the IPIX before it in the window, and how many DELL each has."""
    dell, ipix, amat = (Ticker("trades", name) for name in ("DELL", "IPIX", "AMAT"))
    for time in amat.ts:
        since = time - window * 1_000
        first, last = np.searchsorted(ipix.ts, [since, time])
        middle = ipix.ts[first:last]
        first_dell = np.searchsorted(dell.ts, since)
        yield (middle, time), np.searchsorted(dell.ts, middle) - first_dell


@needs(TRADES)
@pytest.mark.parametrize("number", range(3))
def test_trades_with_and_without_an_absence(number: int) -> None:
    window = (100, 500, 2000)[number]
    qqq = Ticker("trades", "QQQ").ts
    every = without = 0
    for (middle, time), dells in chains(window):
        after = np.searchsorted(qqq, middle, "right")
        undisturbed = after == np.searchsorted(qqq, time)
        every += int(dells.sum())
        without += int(dells[undisturbed].sum())
    assert count(ASEQ_1[number]) == every
    assert count(ASEQ_2[number]) == without


# What nobody can enumerate is counted above.
JUDGED = [case for case in CASES if case not in TRADES_KL[1:]]


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: f"{case.stream}: {case.name}")
def test_a_stretch_of_the_day_by_the_judge(case: Case) -> None:
    if reason := absent(FOLDERS[case.stream]):
        pytest.skip(reason)
    source, query = stream(case.stream), parse(case.text)
    variables = {v for branch in normal_form(query) for v in branch.variables}
    branch = normal_form(query)[0]
    size = 80 if branch.repeated else {3: 240, 4: 160, 5: 90, 6: 70}[len(branch.variables)]
    frame = skewed_stretch() if case is SKEWED else stretch(case, size)
    expected = judge(list(judged(frame, source)), query)
    assert expected or case is SKEWED
    schema = source.schema
    part = events(
        frame.assign(id=range(len(frame))), time=schema.time, type=schema.type, unit=schema.unit
    )
    matches = detect(part, query)
    assert isinstance(matches, Matches)
    assert result_of(matches.to_arrow(), variables) == expected


def stretch(case: Case, size: int) -> pd.DataFrame:
    """Return some events of one time of day, around a short match."""
    source = stream(case.stream)
    matches = detect(source, case.text, limit=5_000)
    assert isinstance(matches, Matches)
    found = matches.to_arrow().select(["match_start", "match_end"]).to_pandas()
    shortest = found.loc[(found["match_end"] - found["match_start"]).idxmin()]
    times = source.source[source.schema.time]
    begin = max(int(times.searchsorted(shortest["match_start"])) - size // 3, 0)
    return source.source.iloc[begin : begin + size]


def skewed_stretch() -> pd.DataFrame:
    frame = stream(SKEWED.stream).source
    return pd.concat([frame.iloc[246:266], frame.iloc[-1:]])  # some of each ticker


def judged(frame: pd.DataFrame, source: Stream) -> Iterator[Event]:
    """Yield the rows as the judge takes them."""
    scale = 1_000 if source.schema.unit == "ms" else 1
    for arrival, row in enumerate(frame.to_dict("records")):
        time = row[source.schema.time]
        moment = time.value // 1_000 if isinstance(time, pd.Timestamp) else time * scale
        yield Event(moment, row["ticker"], row, arrival)
