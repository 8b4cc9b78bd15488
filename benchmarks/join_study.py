"""JOIN's experimental study, small: do its claims hold here? (docs/join-study.md has the answers)

    python -m benchmarks join_study [-- --small] [-- --out FOLDER]
    python -m benchmarks.join_study [--small] [--out FOLDER] [--part NAME ...]

The parts: `runs` (each planner's plans by the columnar engine), `mechanisms` (by the lazy automaton
and the evaluation tree), `alpha` (throughput against latency), `strategies`, `large` (planning
time and cost up to 22 variables); and with the source's rates read per window `windows` (costs),
`window-runs`, `window-alpha` and `strategy-runs` (by mechanisms) and `sets` (with a repeated
variable). Tables are
written as CSV, figures as HTML. Some ten minutes of CPU time, half a minute with `--small`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from benchmarks import join_large, join_mechanisms, join_runs, join_strategies, join_windows
from benchmarks.datasets import absent
from benchmarks.join_figures import draw
from benchmarks.join_patterns import KINDS, MARKETS, Market
from benchmarks.join_report import report
from benchmarks.join_runs import Row


@dataclass(frozen=True)
class Extent:
    """The extent of the study: sizes and patterns of each size, for each part."""

    sizes: tuple[int, ...]
    patterns: int
    mechanism_sizes: tuple[int, ...]
    mechanism_patterns: int
    large_sizes: tuple[int, ...]
    large_patterns: int
    window_sizes: tuple[int, ...]
    window_patterns: int
    window_run_sizes: tuple[int, ...]
    window_runs: int


WHOLE = Extent(
    (3, 4, 5, 6),
    3,
    (3, 4, 5, 6),
    3,
    tuple(range(3, 23)),
    10,
    (3, 5, 7, 9, 14, 18, 22),
    30,
    (3, 4, 5, 6),
    8,
)
SMALL = Extent((3, 5), 1, (3, 4), 1, (3, 6, 9, 12, 15), 3, (3, 5), 3, (3, 4), 1)


def _runs(extent: Extent) -> Iterable[Row]:
    for market in _present():
        for kind in KINDS:
            began = time.process_time()
            for subject in join_runs.subjects(market, extent.sizes, extent.patterns, (kind,)):
                yield from join_runs.measured(subject)
            seconds = time.process_time() - began
            print(f"  {market.name}, {kind}: {seconds:.0f} s of CPU", flush=True)


def _mechanisms(extent: Extent) -> Iterable[Row]:
    for market in _present():
        if market.name == "bars":
            yield from join_mechanisms.rows(
                market, extent.mechanism_sizes, extent.mechanism_patterns
            )


def _alpha(extent: Extent) -> Iterable[Row]:
    for market in _present():
        if market.name == "bars":
            yield from join_mechanisms.weighed(
                market, extent.mechanism_sizes, extent.mechanism_patterns
            )


def _strategies(extent: Extent) -> Iterable[Row]:
    for market in _present():
        yield from join_strategies.rows(market, extent.sizes, extent.patterns)


def _large(extent: Extent) -> Iterable[Row]:
    return join_large.rows(extent.large_sizes, extent.large_patterns)


PARTS: Mapping[str, Callable[[Extent], Iterable[Row]]] = MappingProxyType(
    {
        "runs": _runs,
        "mechanisms": _mechanisms,
        "alpha": _alpha,
        "strategies": _strategies,
        "strategy-runs": lambda e: join_strategies.mechanism_rows(
            e.window_run_sizes, e.window_runs
        ),
        "large": _large,
        "windows": lambda e: join_windows.expected(e.window_sizes, e.window_patterns),
        "window-runs": lambda e: join_windows.measured(e.window_run_sizes, e.window_runs),
        "window-alpha": lambda e: join_windows.weighed(e.window_run_sizes, e.window_runs),
        "sets": lambda e: join_windows.repeated(e.window_run_sizes, e.window_runs),
    }
)


def _present() -> list[Market]:
    return [market for market in MARKETS if not (market.data and absent(market.data))]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts, print their results and write tables and figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.join_study")
    parser.add_argument("--out", type=Path, default=Path("out/join-study"))
    parser.add_argument("--small", action="store_true", help="few patterns of few sizes")
    parser.add_argument("--part", action="append", choices=tuple(PARTS), help="all, if not given")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for market in MARKETS:
        reason = absent(market.data) if market.data else None
        if reason:
            print(f"join_study, {market.name}: left out, {reason}")
    frames = {}
    for name in options.part or PARTS:
        began = time.process_time()
        frame = pd.DataFrame(list(PARTS[name](SMALL if options.small else WHOLE)))
        if frame.empty:
            continue
        frame.to_csv(options.out / f"{name}.csv", index=False)
        print(
            f"join_study, {name}: {len(frame):,} rows, {time.process_time() - began:.0f} s of CPU"
        )
        frames[name] = frame
    report(frames, options.out)
    print(f"\nfigures: {draw(frames, options.out / 'join-study.html')}")


if __name__ == "__main__":
    main()
