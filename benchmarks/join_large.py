"""JOIN's study of large patterns (its figure 17): planning time and normalised cost, nothing run.

Statistics are drawn as the source measured them: sequences, 1 to 45 events per second of each type,
half as many conditions as variables with selectivities from 0.002 to 0.88. Within the source's 20
minutes every further variable multiplies the partial matches, so that nearly all of them are those
of the last step, which no plan avoids; hence also a window of five seconds, in which they grow at
first and then shrink.

The normalised cost of a plan is the cost of the plan by frequency divided by its own, orders as
trees that lean left. It is given with the last step and without it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.join_runs import Row
from benchmarks.planning import WINDOW, drawn, patient, sequence
from cepkit.costs import PARTIAL_MATCHES
from cepkit.costs.contract import BranchCost
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import BranchPlan, as_tree
from cepkit.planners import PLANNERS

BASE = "by-frequency"
WINDOWS = (WINDOW, 5.0)
"""The windows in seconds."""


def rows(sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row for each window, pattern and planner."""
    for window in WINDOWS:
        for size in sizes:
            for number in range(patterns):
                yield from _rows(window, size, number)


def _rows(window: float, size: int, number: int) -> Iterator[Row]:
    branch = sequence(size, window)
    statistics = drawn(branch, size // 2, np.random.default_rng((size, number)))
    cost = PARTIAL_MATCHES.on(branch, statistics)
    found = {}
    for name, planner in PLANNERS.items():
        began = time.process_time()
        plan = patient(planner).plan(branch, statistics, PARTIAL_MATCHES)
        seconds = time.process_time() - began
        found[name] = *_logs(cost, plan), seconds
    whole_base, inner_base, _ = found[BASE]
    for name, (whole, inner, seconds) in found.items():
        yield {
            "window": window,
            "size": size,
            "pattern": number,
            "planner": name,
            "log cost": whole,
            "normalised": 10 ** (whole_base - whole),
            "without the last step": 10 ** (inner_base - inner),
            "s": seconds,
        }


def _logs(cost: BranchCost, plan: BranchPlan) -> tuple[float, float]:
    """Return the logarithms of a plan's cost as a tree, with and without its last step."""
    tree = as_tree(plan)
    leaves = [cost.leaf(cost.mask((variable,))) for variable in cost.variables]
    inner = [*leaves, *(cost.join(*step) for step in cost.steps(tree)[:-1])]
    return cost.of(tree) / math.log(10), log_sum(inner) / math.log(10)
