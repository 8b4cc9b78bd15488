"""What the rows of JOIN's study say together: gains, and how well cost foretells measurement.

Gains are geometric means of ratios inside a pattern: patterns differ by orders of magnitude, and a
mean of throughputs would be that of the cheapest alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from benchmarks.join_runs import Row

PATTERN = ["stream", "set", "size", "pattern"]
"""The columns that say which pattern it was."""
_LEAST_PLANS = 3
_APART = 1.05
"""Measurements that differ by less are noise."""


def gains(frame: pd.DataFrame, value: str, base: str, by: Sequence[str]) -> pd.DataFrame:
    """Return for each planner by how much less of `value` it has than `base`.

    Args:
        frame: Rows of runs.
        value: What is compared; above 1 in the result the planner has less of it.
        base: The planner compared with.
        by: The columns to group by.

    Returns:
        A row for each group: a geometric mean for each planner, and `patterns`: those in which
        all planners were run.
    """
    wide = frame.pivot_table(index=PATTERN, columns="planner", values=value, dropna=False)
    whole = wide.reindex(columns=frame["planner"].unique()).dropna()
    whole = whole[(whole > 0).all(axis=1)]
    logs = np.log(whole[[base]].to_numpy() / whole)
    groups = logs.reset_index().groupby(list(by), sort=False)
    means = np.exp(groups[list(whole.columns)].mean())
    means.insert(0, "patterns", groups.size())
    return means.reset_index()


def ratios(
    frame: pd.DataFrame, value: str, pairs: Sequence[tuple[str, str]], by: Sequence[str]
) -> pd.DataFrame:
    """Return how many times as much of `value` one planner has as another, for pairs of them.

    Returns:
        A row for each group and pair: how many patterns, the geometric mean and the greatest.
    """
    wide = frame.pivot_table(index=PATTERN, columns="planner", values=value).reset_index()
    rows = []
    for names, of_group in wide.groupby(list(by), sort=False):
        head = dict(zip(by, names if isinstance(names, tuple) else (names,), strict=True))
        for more, less in pairs:
            ratio = (of_group[more] / of_group[less]).dropna()
            ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
            rows.append(
                head
                | {
                    "of": f"{more} / {less}",
                    "patterns": len(ratio),
                    "mean": float(np.exp(np.log(ratio).mean())) if len(ratio) else None,
                    "greatest": float(ratio.max()) if len(ratio) else None,
                }
            )
    return pd.DataFrame(rows)


def correlations(
    frame: pd.DataFrame, costs: Sequence[str], values: Sequence[str], by: Sequence[str]
) -> pd.DataFrame:
    """Return how costs go with measurements, each plan that was run counted once.

    Returns:
        A row for each group, cost and measurement: `plans`; `rank`, the correlation of the ranks;
        `log-log`, that of the logarithms; `slope` of the line through those; `inside`, that of
        the logarithms less their mean over the plans of a pattern: whether the cost tells which
        plan is better; `pairs right`, of two plans of a pattern that differ by more than 5 %.
    """
    run = frame[frame["first"] & (frame["not run"] == "")]
    rows = []
    for names, of_group in run.groupby(list(by), sort=False):
        head = dict(zip(by, names if isinstance(names, tuple) else (names,), strict=True))
        for cost in costs:
            for value in values:
                known = of_group[of_group[value] > 0]
                if len(known) >= _LEAST_PLANS:
                    measured = known[PATTERN].assign(
                        x=known[f"log {cost}"], y=np.log10(known[value].astype(float))
                    )
                    rows.append(head | {"cost": cost, "of": value} | _together(measured))
    return pd.DataFrame(rows)


def _together(points: pd.DataFrame) -> Row:
    x, y = points["x"], points["y"]
    each = points.groupby(PATTERN)[["x", "y"]]
    inside = points[["x", "y"]] - each.transform("mean")
    right = [same for _, plans in each for same in _pairs(plans)]
    return {
        "plans": len(points),
        "rank": x.rank().corr(y.rank()),
        "log-log": x.corr(y),
        "slope": float(np.polyfit(x, y, 1)[0]),
        "inside": inside["x"].corr(inside["y"]),
        "pairs right": float(np.mean(right)) if right else None,
    }


def _pairs(plans: pd.DataFrame) -> Iterator[bool]:
    for (x1, y1), (x2, y2) in combinations(plans.itertuples(index=False), 2):
        if abs(y1 - y2) > np.log10(_APART):
            yield (x1 - x2) * (y1 - y2) > 0


def not_run(frame: pd.DataFrame) -> pd.DataFrame:
    """Return for each stream and planner how many plans were too dear to be run."""
    dear = frame.assign(dear=frame["not run"] != "")
    counted = dear.pivot_table(index="planner", columns="stream", values="dear", aggfunc="sum")
    return counted.astype(int).reset_index()
