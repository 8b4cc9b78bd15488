"""Streams of benchmarks: many types by Zipf's law, and types whose rates drift.

The results depend only on the arguments, the seed and the NumPy version. The command also writes
the sample streams of the package: ``python -m benchmarks.streams stocks --events 2000 --out
stocks.csv``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from cepkit.errors import FileError
from cepkit.files import CSV, PARQUET, check_target, whole_file
from cepkit.stream.clicks import click_events
from cepkit.stream.generators import stock_events

Integers = npt.NDArray[np.int64]

_MONDAY = np.datetime64("2024-03-04", "us").astype(np.int64)
_TIE_SHARE = 0.09
"""The share of events with the time of the one before, in `zipf_events`."""
_FIXED_WEIGHTS = (100, 100)
_MEAN_GAP = 5_000
"""The mean microseconds from an event to the next, in `drifting_events`."""


def zipf_events(
    n: int,
    *,
    types: int = 50,
    mean_gap_ms: float = 5.0,
    keys: int = 1000,
    seed: int = 0,
) -> pa.Table:
    """Return the benchmark stream: many types, from very frequent to rare, without drift.

    Args:
        n: The number of events.
        types: The number of types: T01, T02, ... The rate of rank r is proportional to 1 / r.
        mean_gap_ms: The mean milliseconds from an event to the next.
        keys: The number of keys.
        seed: The seed of the random generator.

    Returns:
        Columns ts (timestamp, UTC), type (text), price (uniform over 0 to 100), diff (standard
        normal), key (integer, uniform over 0 to keys - 1), in order of time.

    Example:
        >>> from benchmarks.streams import zipf_events
        >>> zipf_events(3, types=2).column("type").to_pylist()
        ['T01', 'T02', 'T01']
    """
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, types + 1)
    width = len(str(types))
    names = [f"T{rank:0{max(2, width)}}" for rank in range(1, types + 1)]
    gaps = rng.exponential(mean_gap_ms * 1000 / (1 - _TIE_SHARE), n)
    ticks: Integers = np.maximum(1, np.rint(gaps)).astype(np.int64)
    ticks[rng.random(n) < _TIE_SHARE] = 0
    codes = rng.choice(types, size=n, p=weights / weights.sum()).astype(np.int32)
    return pa.table(
        {
            "ts": _timestamps(_MONDAY + np.cumsum(ticks)),
            "type": _texts(codes, names),
            "price": rng.uniform(0, 100, n),
            "diff": rng.standard_normal(n),
            "key": rng.integers(0, keys, n),
        }
    )


def drifting_events(
    n: int,
    *,
    weights: Sequence[float] = (1, 100, 100, 100),
    segment: int = 100_000,
    drift: Literal["sudden", "slow", "periodic"] = "sudden",
    noise: float = 0.0,
    seed: int = 0,
) -> pa.Table:
    """Return a stream whose types change their rates: a rare type may become frequent.

    Args:
        n: The number of events.
        weights: The weights of the types T1, T2, ..., permuted in each segment. The types O1 and
            O2 have fixed weights.
        segment: The number of events of a segment.
        drift: "sudden": the weights change at once; "slow": they change linearly over a segment;
            "periodic": they change at once, and each type takes the weight of the next one.
        noise: The standard deviation of the logarithm of each weight, in each twentieth of a
            segment.
        seed: The seed of the random generator.

    Returns:
        Columns ts (timestamp, UTC), type (text), diff (standard normal), in order of time.

    Example:
        >>> from benchmarks.streams import drifting_events
        >>> drifting_events(3).column_names
        ['ts', 'type', 'diff']
    """
    rng = np.random.default_rng(seed)
    names = [f"T{i + 1}" for i in range(len(weights))]
    names += [f"O{i + 1}" for i in range(len(_FIXED_WEIGHTS))]
    codes = np.empty(n, dtype=np.int32)
    current = np.array(weights, dtype=np.float64)
    step = max(1, segment // 20)
    for begin in range(0, n, segment):
        before = current
        current = np.roll(before, 1) if drift == "periodic" else rng.permutation(current)
        before = current if begin == 0 else before
        for first in range(begin, min(begin + segment, n), step):
            size = min(step, n - first)
            part = (first - begin) / segment if drift == "slow" else 1.0
            now = before + (current - before) * part
            if noise:
                now = now * np.exp(rng.normal(0, noise, len(now)))
            shares = np.concatenate((now, _FIXED_WEIGHTS))
            codes[first : first + size] = rng.choice(len(shares), size, p=shares / shares.sum())
    gaps = np.maximum(1, np.rint(rng.exponential(_MEAN_GAP, n))).astype(np.int64)
    return pa.table(
        {
            "ts": _timestamps(_MONDAY + np.cumsum(gaps)),
            "type": _texts(codes, names),
            "diff": rng.standard_normal(n),
        }
    )


def _timestamps(microseconds: Integers) -> pa.Array:
    return pa.array(microseconds, pa.timestamp("us", "UTC"))


def _texts(codes: npt.NDArray[np.int32], names: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a generated stream to a CSV or Parquet file.

    Args:
        arguments: The arguments of the command line; None for those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.streams", description="Write a generated stream to a file."
    )
    parser.add_argument("stream", choices=("stocks", "clicks", "zipf"))
    parser.add_argument("--events", type=int, default=200_000, help="how many (default 200000)")
    parser.add_argument("--seed", type=int, default=7, help="of the random generator (default 7)")
    parser.add_argument(
        "--per-day", type=int, help="stocks: how many events a day has (default 200000)"
    )
    parser.add_argument("--out", required=True, help="a .csv or .parquet file")
    parser.add_argument("--overwrite", action="store_true", help="replace --out where it exists")
    options = parser.parse_args(arguments)
    if options.events < 0 or (options.per_day is not None and options.per_day < 1):
        parser.error("--events must not be negative, --per-day must be positive")
    try:
        target = check_target(
            options.out, PARQUET, CSV, overwrite=options.overwrite, option="--overwrite"
        )
        _write(_generated(options), target, overwrite=options.overwrite)
    except FileError as error:
        parser.error(str(error))


def _generated(options: argparse.Namespace) -> pa.Table:
    match options.stream:
        case "zipf":
            return zipf_events(options.events, seed=options.seed)
        case "clicks":
            return click_events(options.events, seed=options.seed)
        case _:
            return stock_events(options.events, seed=options.seed, events_per_day=options.per_day)


def _write(table: pa.Table, target: Path, *, overwrite: bool) -> None:
    with whole_file(target, overwrite=overwrite) as file:
        if target.suffix.casefold() in PARQUET.endings:
            pa_parquet.write_table(table, file)
            return
        # Arrow would quote the names.
        file.write((",".join(table.column_names) + "\n").encode())
        no_quotes = pa_csv.WriteOptions(include_header=False, quoting_style="none")
        pa_csv.write_csv(table, file, no_quotes)


if __name__ == "__main__":
    main()
