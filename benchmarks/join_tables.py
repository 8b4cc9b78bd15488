"""Summaries of JOIN's study: gains, and how well cost predicts measurements.

Gains are ratios inside a pattern, because patterns differ by orders of magnitude, and their median.
A plan that was too expensive to run counts as worse than any other, so that leaving it out favours
no planner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.join_runs import Row

PATTERN = ["stream", "set", "size", "pattern"]
"""The columns that say which pattern it was."""
_LEAST_PLANS = 3
_SAME = 1e-9
_APART = 1.05
"""The factor by which measurements must differ not to be noise."""


def gains(frame: pd.DataFrame, value: str, base: str, by: Sequence[str]) -> pd.DataFrame:
    """Return for each planner how many times less of `value` it has than `base`.

    Args:
        frame: Rows of runs.
        value: The column that is compared; above 1 in the result the planner has less of it.
        base: The planner to compare with.
        by: The columns to group by.

    Returns:
        A row for each group: how many patterns, and the median for each planner.
    """
    wide = _wide(frame, value)
    planners = list(frame["planner"].unique())
    ratio = _ratio(wide[[base]].to_numpy(), wide[planners])
    groups = ratio.reset_index().groupby(list(by), sort=False)
    medians = groups[planners].median()
    medians.insert(0, "patterns", groups.size())
    return medians.reset_index()


def ratios(
    frame: pd.DataFrame, value: str, pairs: Sequence[tuple[str, str]], by: Sequence[str]
) -> pd.DataFrame:
    """Return how many times as much of `value` one planner has as another, for pairs of them.

    Returns:
        A row for each group and pair: how many patterns and the median; of those patterns in
        which both plans were run their number, the geometric mean and the greatest.
    """
    wide = _wide(frame, value).reset_index()
    rows = []
    for names, of_group in wide.groupby(list(by), sort=False):
        head = dict(zip(by, names if isinstance(names, tuple) else (names,), strict=True))
        for more, less in pairs:
            ratio = _ratio(of_group[more], of_group[less]).dropna()
            run = ratio[np.isfinite(ratio) & (ratio > 0)]
            rows.append(
                head
                | {
                    "of": f"{more} / {less}",
                    "patterns": len(ratio),
                    "median": float(ratio.median()) if len(ratio) else None,
                    "both run": len(run),
                    "mean": float(np.exp(np.log(run).mean())) if len(run) else None,
                    "greatest": float(run.max()) if len(run) else None,
                }
            )
    return pd.DataFrame(rows)


def _wide(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a row for each pattern and a column for each planner, infinite where not run."""
    known = frame[value].astype(float).where(frame["not run"] == "", np.inf)
    return frame.assign(**{value: known}).pivot_table(
        index=PATTERN, columns="planner", values=value, dropna=False
    )


def _ratio(more: Any, less: Any) -> Any:
    # Where neither was run, nothing is known; two zeros are equal.
    with np.errstate(invalid="ignore", divide="ignore"):
        return (more / less).mask((more == 0) & (less == 0), 1.0)


def correlations(
    frame: pd.DataFrame, costs: Sequence[str], values: Sequence[str], by: Sequence[str]
) -> pd.DataFrame:
    """Return how costs correlate with measurements; each plan that was run counts once.

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
    """Return for each stream and planner how many plans were too expensive to run."""
    dear = frame.assign(dear=frame["not run"] != "")
    counted = dear.pivot_table(index="planner", columns="stream", values="dear", aggfunc="sum")
    return counted.astype(int).reset_index()


def best_orders_found(frame: pd.DataFrame, best: str = "dp-order") -> pd.DataFrame:
    """Return for each planner of orders the share of patterns whose best order it found."""
    orders = frame.groupby("planner", sort=False)["tree"].transform("any")
    wide = frame[~orders].pivot_table(index=PATTERN, columns="planner", values="log own")
    found = wide.sub(wide[best], axis=0).abs() < _SAME
    return found.mean().rename("share").reset_index()


def bushy_against_order(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return how many times as much of `value` the best order has as the best tree, by its shape.

    Returns:
        A row each for trees with a join of two subtrees and for those that lean to one side.
    """
    tree = frame[frame["planner"] == "dp-tree"].set_index(PATTERN)["plan"]
    ratio = _wide(frame, value)
    shapes = tree.str.contains(") ⋈ (", regex=False).map({True: "bushy", False: "leaning"})
    each = (ratio["dp-order"] / ratio["dp-tree"]).groupby(shapes.reindex(ratio.index))
    table = each.agg(patterns="size", least="min", median="median", greatest="max")
    return table.rename_axis("best tree").reset_index()


def means_by_alpha(frame: pd.DataFrame) -> pd.DataFrame:
    """Return for each planner and alpha the means over the sequences."""
    columns = ["evaluations", "ms", "evaluated at last"]
    # Only sequences whose plans were all run: other means would compare different sequences.
    whole = frame.groupby(["size", "pattern"])["not run"].transform(lambda why: (why == "").all())
    done = frame[whole].astype(dict.fromkeys(columns, float))
    return done.groupby(["planner", "alpha"], sort=False)[columns].mean()
