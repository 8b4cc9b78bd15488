"""ADAPT's study: decision functions over streams that drift, with greedy and zstream.

Each stream is run in slices, planned by the slices before. The study counts the candidates that the
engine looks at (plans decide how many), how often the decision function is asked and fires, how
often the planner then answers the same as before (false positives), and switches. It also measures
the shares of processor time for estimating, deciding and planning, and checks that matches are the
same in all runs. `slices` is the project's own way: each slice by its own statistics.

    python -m benchmarks.adapt_study [--events N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.datasets import absent, folder
from benchmarks.results import Row, show, write
from benchmarks.streams import drifting_events
from cepkit.adaptation.causal import Causal
from cepkit.adaptation.decisions import Decision, Invariants, Static, Threshold, Unconditional
from cepkit.adaptation.loop import Adaptation
from cepkit.adaptation.slices import PerSlice
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.slices.plans import SlicePlan, SlicePlans
from cepkit.costs.contract import BranchCost
from cepkit.costs.work import WORK
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from cepkit.plan.nodes import BranchPlan, Plan
from cepkit.planners import PLANNERS
from cepkit.planners.choose import choose_plan
from cepkit.planners.deciding import DecidingCondition, DecidingPlanner, knows_why
from cepkit.statistics.measuring.estimate import estimate
from cepkit.statistics.model import Statistics
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream, events

FOUR = (
    "PATTERN SEQ(T1 a, T2 b, T3 c, T4 d) WHERE a.diff + 1 < b.diff AND b.diff + 1 < c.diff "
    "AND c.diff + 1 < d.diff WITHIN 3 s"
)
TRAFFIC = (
    "PATTERN SEQ(V10 a, V15 b, V20 c, V25 d) WHERE a.diff + 30 < b.diff AND b.diff + 10 < c.diff "
    "AND c.diff + 10 < d.diff WITHIN 20 minutes"
)
DECISIONS: Mapping[str, Decision] = {
    "static": Static(),
    "unconditional": Unconditional(),
    "threshold 0.2": Threshold(0.2),
    "threshold 0.5": Threshold(0.5),
    "threshold 2": Threshold(2.0),
    "invariants K=1": Invariants(),
    "invariants K=all": Invariants(K=None),
    "invariants d=0.2": Invariants(d=0.2),
    "invariants d=0.5": Invariants(d=0.5),
    "invariants d=mean": Invariants(d="mean"),
    "invariants d=median": Invariants(d="median"),
}


@dataclass
class TimedDecision:
    """A decision function, how often it was asked and fired, and the time that it took."""

    decision: Decision
    name: str = "timed"
    checks: int = 0
    fired: int = 0
    seconds: float = 0.0

    def fires(self, plan: Plan, statistics: Statistics) -> str | None:
        """Ask the decision function."""
        began = time.process_time()
        reason = self.decision.fires(plan, statistics)
        self.seconds += time.process_time() - began
        self.checks += 1
        self.fired += reason is not None
        return reason


@dataclass
class TimedPlanner:
    """A planner, how often it answered as before, and the time that it took."""

    planner: DecidingPlanner
    name: str = "timed"
    same: int = 0
    seconds: float = 0.0
    last: BranchPlan | None = field(default=None, repr=False)

    def plan(self, *given: Any) -> BranchPlan:
        """Ask the planner."""
        began = time.process_time()
        answer = self.planner.plan(*given)
        self.seconds += time.process_time() - began
        self.same += answer == self.last
        self.last = answer
        return answer

    def deciding(self, plan: BranchPlan, cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return the deciding conditions of a plan."""
        return self.planner.deciding(plan, cost)


class Clocked:
    """The plans of slices, with the time that all planning took."""

    def __init__(self, plans: SlicePlans) -> None:
        self._plans, self.seconds = plans, 0.0

    def least_rows(self, columns: EventColumns) -> int:
        """Return the slices' least events."""
        return self._plans.least_rows(columns)

    def __call__(self, columns: EventColumns, first: int, end: int) -> SlicePlan:
        """Return the plan of a slice."""
        began = time.process_time()
        plan = self._plans(columns, first, end)
        self.seconds += time.process_time() - began
        return plan


@dataclass(frozen=True)
class Case:
    """A stream and a pattern.

    Attributes:
        name: The name of the case.
        stream: The events.
        query: The pattern.
        rows: The number of events of a slice.
    """

    name: str
    stream: Stream
    query: Query
    rows: int


def main(arguments: Sequence[str]) -> None:
    """Run the study, print and write its tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.adapt_study")
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    for case in cases(chosen.events):
        for planner in ("greedy", "zstream"):
            rows = study(case, planner)
            show(f"{case.name}, {planner}", rows)
            if chosen.out:
                write(chosen.out, f"adapt_{case.name}_{planner}".replace(" ", "_"), rows)


def cases(n: int) -> list[Case]:
    """Return the streams; recorded ones where their files are."""
    made = {
        "sudden": drifting_events(n, segment=n // 8 + 777, seed=3),
        "slow": drifting_events(n, segment=n // 8 + 777, drift="slow", seed=3),
        "periodic": drifting_events(n, segment=n // 8 + 777, drift="periodic", seed=3),
        "noise alone": drifting_events(
            n, weights=(20, 21, 22, 23), segment=n // 4, noise=0.1, seed=3
        ),
    }
    four = parse(FOUR)
    found = [
        Case(name, events(table, time="ts", type="type"), four, 10_000)
        for name, table in made.items()
    ]
    if absent("aarhus-traffic") is None:
        stream = events(traffic(), time="ts", type="type")
        found.append(Case("aarhus-traffic", stream, parse(TRAFFIC), 16_000))
    return found


def traffic() -> pd.DataFrame:
    """Return a week of traffic: types are classes of vehicle counts, as in the source."""
    files = sorted((folder() / "aarhus-traffic").glob("traffic_*.csv.gz"))
    frame = pd.concat(map(pd.read_csv, files), ignore_index=True)
    bounds = [-1, 0, 9, 14, 19, 24, 29, 34, 44, 9999]
    names = ["V0", "V1", "V10", "V15", "V20", "V25", "V30", "V35", "V45"]
    kinds = np.asarray(pd.cut(frame["vehicle_count"], bounds, labels=names).astype(str))
    times = pd.to_datetime(frame["timestamp"], utc=True)
    speeds = frame["avg_speed"].astype(float)
    return pd.DataFrame({"ts": times, "type": kinds, "diff": speeds}).sort_values("ts")


def study(case: Case, planner: str) -> list[Row]:
    """Return the work of each decision function, beside one plan for all and one for each slice."""
    statistics = estimate(case.stream.columns(attributes_read(case.query)), case.query)
    plan = choose_plan(case.query, statistics, planner, WORK)
    matches, base = counted_run(case, plan, Clocked(Fixed(plan)))
    rows = [_row("one plan by the whole stream", base, base)]
    for name, decision in DECISIONS.items():
        made = PLANNERS[planner]
        assert knows_why(made)
        timed, asked = TimedDecision(decision), TimedPlanner(made)
        clocked = Clocked(Causal(Adaptation(timed, asked), case.query, plan))
        again, counted = counted_run(case, plan, clocked)
        assert again == matches
        rows.append(
            {
                **_row(name, counted, base),
                "checks": timed.checks,
                "fires": timed.fired,
                "same answer": asked.same,
                "switches": counted.switches,
                "estimating %": _share(clocked.seconds - timed.seconds - asked.seconds, counted),
                "deciding %": _share(timed.seconds, counted),
                "planning %": _share(asked.seconds, counted),
            }
        )
    again, counted = counted_run(case, plan, Clocked(PerSlice(case.query, plan)))
    assert again == matches
    rows.append(_row("slices", counted, base) | {"switches": counted.switches})
    names = list(rows[1])
    return [{name: row.get(name) for name in names} for row in rows]


@dataclass(frozen=True)
class Counted:
    """The work of a run: its processor time, candidates and switches."""

    seconds: float
    candidates: int
    switches: int


class Fixed:
    """The same plan for all slices."""

    def __init__(self, plan: Plan) -> None:
        self._plan = SlicePlan(None, plan.branches, {})

    def least_rows(self, _: EventColumns) -> int:
        """Return one: slices are as long as asked for."""
        return 1

    def __call__(self, *_: Any) -> SlicePlan:
        """Return the plan."""
        return self._plan


def counted_run(case: Case, plan: Plan, plans: SlicePlans) -> tuple[int, Counted]:
    """Return the number of matches of a run with plans of slices, and what it did."""
    matches = Matches(case.stream, case.query, plan, plans=plans, slice_rows=case.rows)
    began = time.process_time()
    number = matches.count()
    seconds = time.process_time() - began
    in_force = matches.plans
    return number, Counted(
        seconds, sum(run.candidates for run in in_force.slices), in_force.switches
    )


def _row(name: str, counted: Counted, base: Counted) -> dict[str, Any]:
    return {
        "way": name,
        "candidates": counted.candidates,
        "fewer": base.candidates / counted.candidates,
        "ms": counted.seconds * 1000,
    }


def _share(seconds: float, counted: Counted) -> float:
    return 100 * seconds / counted.seconds


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
