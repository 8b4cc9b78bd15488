"""ASEQ's study: sequences of trades counted without their matches, and by constructing them.

The streams are the first 120,000 recorded trades, as in the source, and a generated stream of
twenty types, in which a window holds far more events. The study varies the length of the sequence,
the window and a negated event, and measures what several queries gain by sharing. Times are CPU
times from the events in memory to the columns of the result, a row for each trigger; the least of
several runs after one that compiles. A run that would construct too many matches is left out, and
the table is empty there.

    python -m benchmarks.aseq_study [--small] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import ecube
from benchmarks.datasets import absent, trades
from benchmarks.ecube import Place
from benchmarks.measured import least_seconds
from benchmarks.results import show, write
from benchmarks.two_step import two_step
from cepkit import aggregate, events, parse
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.routes.sharing import SHARES
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream

TICKERS = ("DELL", "IPIX", "AMAT", "QQQ", "INTC", "MSFT", "CSCO", "RIMM", "ORCL", "YHOO")
METHODS = ("prefix-counters", "window-product", "two-step")
MOST_MATCHES = 300_000_000
"""The most matches that the baseline makes: more take minutes, and only one table has them."""
EVENTS = 120_000
MILLISECOND = 1000
PLACES: tuple[Place, ...] = ("behind", "before")


@dataclass(frozen=True)
class Data:
    """A stream, the types that sequences are made of, and the type that must be absent."""

    name: str
    stream: Stream
    types: tuple[str, ...]
    absent: str

    def sequence(self, types: Sequence[str], window: int, *, without: bool = False) -> str:
        """Return the text that counts a sequence of some types, a window in milliseconds."""
        items = [f"{name} v{i}" for i, name in enumerate(types)]
        if without:
            items.insert(len(items) - 1, f"NOT({self.absent} n)")
        return f"PATTERN SEQ({', '.join(items)}) WITHIN {window} ms AGG COUNT"


class Loaded(Stream):
    """A stream whose events are in memory as columns, so that reading them is not measured."""

    __slots__ = ("loaded",)
    loaded: EventColumns

    def columns(self, attributes: Iterable[str] | None = None) -> EventColumns:
        """Return the columns, which have every attribute."""
        assert self.loaded.attributes.keys() >= set(attributes or ())
        return self.loaded


def generated(n: int, seed: int = 0) -> pa.Table:
    """Return a stream of the types S01 to S20, equally frequent, about one a millisecond."""
    rng = np.random.default_rng(seed)
    names = np.array([f"S{i:02}" for i in range(1, 21)])
    return pa.table(
        {
            "ts": pa.array(np.cumsum(rng.exponential(1000, n)).astype(np.int64)),
            "type": names[rng.integers(0, 20, n)],
        }
    )


def streams(n: int) -> list[Data]:
    """Return the streams; recorded ones where their files are."""
    types = tuple(f"S{i:02}" for i in range(1, 21))
    made = events(generated(n), time="ts", type="type", unit="us")
    found = [Data("generated", _loaded(made), types, "S20")]
    reason = absent("stock-trades")
    if reason:
        print(f"recorded trades left out: {reason}")
        return found
    frame = trades(n)[["ts_ms", "ticker"]]
    recorded = events(frame, time="ts_ms", type="ticker", unit="ms")
    return [Data("trades", _loaded(recorded), TICKERS, "QQQ"), *found]


def _loaded(stream: Stream) -> Stream:
    found = Loaded(stream.source, stream.schema, stream.column_names)
    object.__setattr__(found, "loaded", stream.columns(()))  # the class of it is frozen
    return found


def objects(data: Data, types: Sequence[str], window: int, live: int) -> tuple[int, int]:
    """Return the most objects that each way holds at once, as the source counts them.

    Prefix counters: those of live STARTs. In two steps: events in the stacks, a pointer of each,
    and the matches. The numbers are computed from the stream, not measured.

    Args:
        data: The stream.
        types: The types of the sequence.
        window: The window of the sequence, in milliseconds.
        live: The most live matches.
    """
    columns = data.stream.columns(())
    most = []
    for names in (types[:1], types):
        codes = [i for i, name in enumerate(columns.type_names) if name in names]
        ts = columns.ts[np.isin(columns.types, codes)]
        begun = np.searchsorted(ts, ts - window * 1000)
        most.append(int((np.arange(len(ts)) - begun + 1).max(initial=0)))
    return most[0], 2 * most[1] + live


def expected(data: Data, window: int) -> list[dict[str, Any]]:
    """Return equation 3 of the source beside what it expects: nothing is timed.

    The prefixes that two steps construct are the sum over k of the events of the first k types in a
    window; the selectivity of the order makes it 1 / (k - 1)! of the combinations that begin with a
    given START. Prefix counters are those of the STARTs in a window.
    """
    columns = data.stream.columns(())
    seconds = (int(columns.ts[-1]) - int(columns.ts[0])) / 1e6
    numbers = dict(
        zip(columns.type_names, np.bincount(columns.types, minlength=1).tolist(), strict=False)
    )
    rows = []
    for length in range(2, 6):
        types = data.types[:length]
        in_window = [numbers[name] * window / 1000 / seconds for name in types]
        prefixes = [
            numbers[types[0]] * math.prod(in_window[1:k]) / math.factorial(k - 1)
            for k in range(2, length + 1)
        ]
        count = aggregate(data.stream, data.sequence(types, window), emit="total")
        rows.append(
            {
                "stream": data.name,
                "length": length,
                "prefixes, equation 3": sum(prefixes),
                "matches of these": prefixes[-1],
                "matches": int(count.to_pandas()["count"].iloc[0]),
                "counters, expected": in_window[0] * length,
                "most counters": objects(data, types, window, 0)[0] * length,
            }
        )
    return rows


def relevant(data: Data, query: Query) -> int:
    """Return how many events have a type of the pattern."""
    wanted = {name for e in events_of(query.structure) for name in e.types or ()}
    columns = data.stream.columns(())
    codes = [i for i, name in enumerate(columns.type_names) if name in wanted]
    return int(np.isin(columns.types, codes).sum())


def methods(data: Data, text: str, runs: int, most: int = MOST_MATCHES) -> dict[str, Any]:
    """Measure every method: nanoseconds for a relevant event, and the ratio to the baseline."""
    query = parse(text)
    matches = int(aggregate(data.stream, query, emit="total").to_pandas()["count"].iloc[0])
    count = relevant(data, query)
    row: dict[str, Any] = {"events": count, "matches": matches}
    for method in METHODS:
        if method == "two-step" and matches > most:
            row[method] = None
            continue

        def work(method: str = method) -> None:
            _rows(data.stream, query, method)

        long = method == "two-step" and matches > 10_000_000
        if not long:
            work()
        row[method] = least_seconds(work, 1 if long else runs) / count * 1e9
    best = min(row["prefix-counters"], row["window-product"])
    row["two-step / best"] = None if row["two-step"] is None else row["two-step"] / best
    return row


def by_length(data: Data, runs: int, window: int) -> list[dict[str, Any]]:
    """Measure sequences of 2 to 10 events."""
    rows = []
    for length in range(2, 11):
        types = data.types[:length]
        text = data.sequence(types, window)
        row = {"stream": data.name, "window ms": window, "length": length}
        row |= methods(data, text, runs)
        live = aggregate(data.stream, text).to_pandas()["count"].max()
        row["counters"], row["objects in two steps"] = objects(data, types, window, int(live))
        rows.append(row)
    return rows


def by_matches(runs: int, n: int) -> list[dict[str, Any]]:
    """Measure five events on a short stream, where the baseline can run at all."""
    stream = events(generated(n), time="ts", type="type", unit="us")
    data = Data(f"generated, {n:,}", _loaded(stream), tuple(f"S{i:02}" for i in range(1, 21)), "")
    return [
        {
            "stream": data.name,
            "window ms": window,
            **methods(data, data.sequence(data.types[:5], window), runs, 5_000_000_000),
        }
        for window in (100, 200, 500, 1000, 2000)
    ]


def by_window(data: Data, runs: int) -> list[dict[str, Any]]:
    """Measure three events with and without a fourth that must be absent."""
    rows = []
    for window in (100, 200, 500, 1000, 2000):
        for without in (False, True):
            text = data.sequence(data.types[:3], window, without=without)
            pattern = f"q{1 + without}"
            found = {"stream": data.name, "window ms": window, "query": pattern}
            rows.append({**found, **methods(data, text, runs)})
    return rows


def sharings(data: Data, texts: Sequence[str], runs: int) -> dict[str, Any]:
    """Measure several queries under every kind of sharing; the results are the same.

    The source compares with prefix counters for each query by itself: "counters".
    """
    queries = [parse(text) for text in texts]
    row: dict[str, Any] = {}
    counts: list[Any] = []

    def by_counters() -> list[Any]:
        return [aggregate(data.stream, query, method="prefix-counters") for query in queries]

    def by_sharing(share: Any) -> Any:
        return aggregate(data.stream, queries, share=share)

    ways: dict[str, Callable[[], Any]] = {"counters": by_counters}
    ways |= {share: partial(by_sharing, share) for share in SHARES}
    for name, work in ways.items():
        counts.append([result.to_pandas()["count"].tolist() for result in work()])
        row[name] = least_seconds(work, runs) * 1e3
    assert all(each == counts[0] for each in counts)
    for share in ("prefix", "chop-connect", "auto"):
        row[f"counters / {share}"] = row["counters"] / row[share]
    row["none / auto"] = row["none"] / row["auto"]
    return row


def shared_prefix(data: Data, runs: int, window: int) -> list[dict[str, Any]]:
    """Measure queries that begin alike: three with ever longer, and more with three events."""
    cases = [(3, length) for length in (2, 3, 4, 5, 6)] + [(n, 3) for n in (2, 4, 5, 6)]
    rows = []
    for queries, length in cases:
        texts = [
            data.sequence((*data.types[:length], data.types[length + q]), window)
            for q in range(queries)
        ]
        about = {"stream": data.name, "window ms": window, "queries": queries, "shared": length}
        rows.append({**about, **sharings(data, texts, runs)})
    return rows


def shared_substring(data: Data, runs: int, window: int) -> list[dict[str, Any]]:
    """Measure queries that have a substring in common behind beginnings of their own."""
    cases = [(3, length) for length in (2, 3, 4, 5, 6)] + [(n, 3) for n in (2, 4, 5, 6)]
    rows = []
    for queries, length in cases:
        common, others = data.types[:length], data.types[length:]
        texts = [
            data.sequence((others[2 * q % len(others)], *common), window) for q in range(queries)
        ]
        about = {"stream": data.name, "window ms": window, "queries": queries, "shared": length}
        rows.append({**about, **sharings(data, texts, runs)})
    return rows


def against_ecube(data: Data, runs: int) -> list[dict[str, Any]]:
    """Measure three queries with three events in common, as in the source's figure 15.

    The own event of each query is the first or the last one. All ways have the same counts.
    """
    rows: list[dict[str, Any]] = []
    columns = data.stream.columns(())
    common, owns = data.types[:3], data.types[3:6]
    cases: list[tuple[Place, int]] = [(p, w) for p in PLACES for w in (100, 200, 500, 1000)]
    for place, window in cases:
        types = [(*common, own) if place == "behind" else (own, *common) for own in owns]
        queries = [parse(data.sequence(each, window)) for each in types]
        ways: dict[str, Callable[[], Any]] = {
            f"{name}, ms": partial(_each, data.stream, queries, method)
            for name, method in (("two-step", "two-step"), ("counters", "prefix-counters"))
        }
        ways["E-Cube, ms"] = partial(
            ecube.counts, columns, common, owns, place, window * MILLISECOND
        )
        ways["chop-connect, ms"] = partial(_shared, data.stream, queries, "chop-connect")
        row: dict[str, Any] = {"stream": data.name, "own event": place, "window ms": window}
        expected = ways["counters, ms"]()
        row["matches"] = sum(
            int(total.to_pandas()["count"].iloc[0])
            for total in aggregate(data.stream, queries, emit="total")
        )
        for name, work in ways.items():
            if row["matches"] > 3 * MOST_MATCHES and name in ("two-step, ms", "E-Cube, ms"):
                row[name] = None
                continue
            assert all(map(np.array_equal, work(), expected)), (name, row)
            row[name] = least_seconds(work, runs) * 1e3
        made = row["two-step, ms"], row["E-Cube, ms"]
        row["two-step / E-Cube"] = None if None in made else made[0] / made[1]
        row["E-Cube / counters"] = None if None in made else made[1] / row["counters, ms"]
        rows.append(row)
    return rows


def _rows(stream: Stream, query: Query, method: str) -> Any:
    if method == "two-step":
        return two_step(stream, query)
    return aggregate(stream, query, method=method)


def _each(stream: Stream, queries: Sequence[Query], method: str) -> list[Any]:
    return [np.asarray(_rows(stream, query, method).columns["count"]) for query in queries]


def _shared(stream: Stream, queries: Sequence[Query], share: Any) -> list[Any]:
    return [
        result.to_arrow()["count"].to_numpy()
        for result in aggregate(stream, list(queries), share=share)
    ]


def of_windows(measure: Callable[..., list[dict[str, Any]]], data: Data, runs: int) -> Any:
    """Measure with the source's window, and with one that holds ten times as many live STARTs."""
    return [row for window in (1000, 10_000) for row in measure(data, runs, window)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print tables and write them as CSV."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aseq_study")
    parser.add_argument("--small", action="store_true", help="a sixth of the events, once each")
    parser.add_argument("--expected", action="store_true", help="equation 3 only")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--ecube", action="store_true", help="equation 3 and E-Cube only")
    options = parser.parse_args(arguments)
    runs = 1 if options.small else 5
    data = streams(EVENTS // 6 if options.small else EVENTS)
    rows = [row for stream in data for row in expected(stream, 1000)]
    show("equation 3, and what it expects", rows)
    write(options.out, "aseq_expected", rows)
    if options.expected:
        return
    rows = [row for stream in data for row in against_ecube(stream, runs)]
    show("ms, three queries with three events in common, by window", rows)
    write(options.out, "aseq_ecube", rows)
    if options.ecube:
        return
    measured = {
        "length": ("ns a relevant event, by length", lambda d: by_length(d, runs, 1000)),
        "window": ("ns a relevant event, by window", lambda d: by_window(d, runs)),
        "prefix": ("ms, queries that begin alike", lambda d: of_windows(shared_prefix, d, runs)),
        "substring": (
            "ms, queries with a substring in common",
            lambda d: of_windows(shared_substring, d, runs),
        ),
    }
    rows = by_matches(runs, 20_000 // (4 if options.small else 1))
    show("ns a relevant event, five events, by window", rows)
    write(options.out, "aseq_matches", rows)
    for name, (title, measure) in measured.items():
        rows = [row for stream in data for row in measure(stream)]
        show(title, rows)
        write(options.out, f"aseq_{name}", rows)


if __name__ == "__main__":
    main()
