"""The tables that docs/join-study.md quotes, printed and written as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.join_patterns import MARKETS
from benchmarks.join_tables import (
    best_orders_found,
    bushy_against_order,
    correlations,
    gains,
    means_by_alpha,
    not_run,
    ratios,
)
from benchmarks.join_windows import RAW
from benchmarks.results import show, write

PAIRS = (
    ("by-frequency", "dp-order"),
    ("given-order", "dp-order"),
    ("zstream", "dp-tree"),
    ("dp-order", "dp-tree"),
    ("greedy", "dp-order"),
    ("dp-order", "what detect takes"),
)
"""Pairs of planners: the first is expected to have the greater measurements."""
COSTS = ("partial matches", "work")
BASE = "by-frequency"


def report(frames: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Print and write the tables of the parts that were run."""
    for name, frame in frames.items():
        for title, table in _SUMMARIES[name](frame):
            show(title, table.astype(object).where(table.notna(), None).to_dict("records"))
            file = f"{name} {title}".lower().replace(",", "").replace(" ", "-")
            write(folder, file, table.to_dict("records"))


Tables = Iterator[tuple[str, pd.DataFrame]]


def _of_runs(frame: pd.DataFrame) -> Tables:
    yield "Plans too dear to be run", not_run(frame)
    yield "Share of patterns whose best order was found", best_orders_found(frame)
    yield "Time of the best order over that of the best tree", bushy_against_order(frame, "ms")
    for value in ("ms", "partials", "MB"):
        title = {"ms": "time", "partials": "partial matches", "MB": "memory"}[value]
        yield f"Gain in {title} over by-frequency", gains(frame, value, BASE, ["stream", "set"])
    yield "Gain in time by size", gains(frame, "ms", BASE, ["size"])
    for value in ("ms", "partials"):
        yield f"Ratios of {value} by size", ratios(frame, value, PAIRS, ["size"])
        yield f"Ratios of {value} by set", ratios(frame, value, PAIRS, ["set"])
    yield "Ratios of expected work by size", _expected(frame, PAIRS)
    values = ("partials", "ms", "MB")
    # The numbers of sets are beyond all others, and are not made.
    finite = _per_second(frame[frame["set"] != "kleene"])
    yield "Cost and measurement by stream", correlations(finite, COSTS, values, ["stream"])
    by_kind = correlations(finite, COSTS, values, ["stream", "tree"])
    yield "Cost and measurement of trees and orders", by_kind
    # Costs of different streams cannot be compared, as windows and lengths differ.
    by_set = correlations(frame, COSTS, values, ["set"]).drop(columns=["rank", "log-log", "slope"])
    yield "Cost and measurement by set", by_set


def _per_second(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with costs by second of the window: sets of a stream differ in windows."""
    windows = {market.name: market.seconds for market in MARKETS}
    places = zip(frame["stream"], frame["set"], strict=True)
    logs = np.log10([windows[stream][kind] for stream, kind in places])
    names = [f"log {cost}" for cost in COSTS]
    return frame.assign(**{name: frame[name] - logs for name in names})


def _of_mechanisms(frame: pd.DataFrame) -> Tables:
    yield "Plans too dear for a mechanism", not_run(frame)
    memory = frame.assign(memory=frame["peak instances"] + frame["peak stored"])
    values = ("ms", "evaluations", "memory")
    for value in values:
        yield f"Gain in {value} by set", gains(memory, value, BASE, ["set"])
        yield f"Ratios of {value} by size", ratios(memory, value, PAIRS[:-1], ["size"])
    yield "Ratios of expected work for a mechanism", _expected(frame, PAIRS[:-1])
    costs = ("partial matches", "own", "work")
    yield "Mechanisms, cost and measurement", correlations(memory, costs, values, ["tree"])


def _expected(frame: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Return ratios of the cost `work`, which plans have whether they were run or not."""
    all_of_them = frame.assign(**{"work": 10 ** frame["log work"], "not run": ""})
    return ratios(all_of_them, "work", pairs, ["size"])


def _of_alpha(frame: pd.DataFrame) -> Tables:
    yield "Means over the sequences", means_by_alpha(frame).reset_index()


def _of_strategies(frame: pd.DataFrame) -> Tables:
    run = frame[frame["not run"] == ""]
    wide = run.pivot_table(
        index=["stream", "planner"], columns="strategy", values="ms", aggfunc="median", sort=False
    )
    yield "Median ms by strategy", wide.reset_index()
    contiguous = frame[frame["strategy"] == "strict-contiguity"]
    yield "Contiguity, gain over given-order", gains(contiguous, "ms", "given-order", ["stream"])


def _of_strategy_runs(frame: pd.DataFrame) -> Tables:
    memory = frame.assign(
        memory=frame["peak instances"] + frame["peak stored"], stream=frame["strategy"]
    )
    pairs = [(name, "dp-order") for name in ("given-order", "by-frequency", "greedy")]
    pairs += [("zstream", "dp-tree"), ("given-order", "dp-tree"), ("dp-order", "dp-tree")]
    yield "Plans too dear for a mechanism, by strategy", not_run(memory)
    for value in ("evaluations", "ms", "memory"):
        table = ratios(memory, value, pairs, ["stream"]).rename(columns={"stream": "strategy"})
        yield f"Ratios of {value} by strategy", table
    run = frame[frame["not run"] == ""]
    wide = run.pivot_table(
        index="planner", columns="strategy", values="ms", aggfunc="median", sort=False
    )
    yield "Median ms of mechanisms by strategy", wide.reset_index()


def _of_large(frame: pd.DataFrame) -> Tables:
    wide = frame.pivot_table(index="size", columns="planner", values="s", sort=False)
    yield "Seconds of planning", wide.sort_index().reset_index()
    for window, of_window in frame.groupby("window"):
        for value in ("normalised", "without the last step"):
            table = of_window.pivot_table(index="size", columns="planner", values=value, sort=False)
            yield f"Cost {value}, window of {window:g} s", table.sort_index().reset_index()
    costs = frame.assign(
        stream=frame["window"], set="sequence", cost=10 ** frame["log cost"], **{"not run": ""}
    )
    table = ratios(costs, "cost", PAIRS[:-1], ["stream", "size"])
    yield "Ratios of cost by window and size", table.rename(columns={"stream": "window"})


def _of_windows(frame: pd.DataFrame) -> Tables:
    by = ["W*r", "size"]
    costs = frame[frame["alpha"] == 0].assign(**{"stream": "", "set": frame["W*r"], "not run": ""})
    # Leaves do not count in an order, as in the source: against trees that would flatter it.
    alike = [pair for pair in PAIRS[:-1] if pair != ("dp-order", "dp-tree")]
    named = ratios(costs, "cost", alike, ["set", "size"])
    known = named[named["patterns"] > 0]
    yield "Ratios of cost by events in a window", known.rename(columns={"set": "W*r"})
    orders = frame[frame["planner"] == "dp-order"]
    for value in ("latency", "cost"):
        wide = orders.pivot_table(index=[*by, "pattern"], columns="alpha", values=value, sort=False)
        relative = wide.div(wide[0.0], axis=0).fillna(1.0)  # no latency before and after
        relative.columns = [f"alpha {alpha:g}" for alpha in relative]
        yield f"Mean {value} by alpha", relative.groupby(by, sort=False).mean().reset_index()


def _of_window_runs(frame: pd.DataFrame) -> Tables:
    memory = frame.assign(memory=frame["peak instances"] + frame["peak stored"])
    yield "Plans too dear for a mechanism", not_run(frame)
    for value in ("evaluations", "ms", "memory"):
        yield f"Ratios of {value} by size", ratios(memory, value, PAIRS[:-1], ["size"])


def _of_sets(frame: pd.DataFrame) -> Tables:
    pairs = [(name, "dp-order") for name in (RAW, "by-frequency", "given-order", "greedy")]
    yield "Plans with sets too dear for a mechanism", not_run(frame)
    for value in ("evaluations", "ms"):
        yield f"Ratios of {value} with sets", ratios(frame, value, pairs, ["size"])
    expected = frame.assign(cost=10 ** frame["log own"], **{"not run": ""})
    yield "Ratios of cost with sets", ratios(expected, "cost", pairs, ["size"])


_SUMMARIES = {
    "runs": _of_runs,
    "mechanisms": _of_mechanisms,
    "alpha": _of_alpha,
    "strategies": _of_strategies,
    "strategy-runs": _of_strategy_runs,
    "large": _of_large,
    "windows": _of_windows,
    "window-runs": _of_window_runs,
    "window-alpha": _of_alpha,
    "sets": _of_sets,
}
