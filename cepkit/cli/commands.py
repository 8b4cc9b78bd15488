"""The commands on a user's own file: profile, plan, detect."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import cepkit as ck
from cepkit.cli.inputs import open_stream, read_pattern, read_statistics
from cepkit.cli.output import check_target, write
from cepkit.cli.rows import first_rows, match_table
from cepkit.cli.terminal import counted, quiet_streams, run, say, seconds, working
from cepkit.columnar.kleene.limits import MOST_SETS
from cepkit.columnar.results.measuring import run_plans
from cepkit.costs import COSTS
from cepkit.pattern.nodes import repeated_in
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.plan.printer import one_line
from cepkit.planners import PLANNERS
from cepkit.planners.compare import ComparedPlan
from cepkit.statistics.model import Statistics
from cepkit.statistics.tables import whole
from cepkit.stream.stream import Stream

_SHOWN = 10


def profile(given: argparse.Namespace) -> None:
    """Print the statistics of a stream, or save them as JSON."""
    query = read_pattern(given)
    stream = open_stream(given)
    statistics = _profiled(stream, query)
    if given.json != "-":
        say(str(statistics))
    if given.json:
        write_json(given.json, statistics.to_json())


def plan(given: argparse.Namespace) -> None:
    """Print the plans of all planners, and the chosen one."""
    query = read_pattern(given)
    cost = COSTS.pick(given.cost)
    if given.planner:
        PLANNERS.pick(given.planner)  # a wrong name is told before minutes of profiling
    stream = open_stream(given) if given.run_events or not given.statistics else None
    statistics = _known(given, query, stream)
    with working("planning"):
        comparison = ck.compare_plans(query, statistics, cost=cost)
    chosen = comparison.best
    if given.planner:
        chosen = ck.choose_plan(query, statistics, given.planner, cost=cost)
    if given.run_events and stream is not None:
        ck.check_detectable(stream, query)
        # The whole stream may have types that its beginning lacks.
        with working("running the plans"), quiet_streams():
            comparison = run_plans(comparison, stream.head(given.run_events))
    if given.json != "-":
        say(str(comparison))
        say(f"\nchosen: {chosen}")
    if given.json:
        found = {
            "cost_model": comparison.cost_model,
            "chosen": _plan_as_data(chosen),
            "plans": [_compared_as_data(row) for row in comparison.rows],
            "refused": dict(comparison.refused),
        }
        write_json(given.json, json.dumps(found, indent=2, ensure_ascii=False))


def detect(given: argparse.Namespace) -> None:
    """Find the matches of a pattern: into a file, or the first ones onto the terminal."""
    query = read_pattern(given)
    target = check_target(given)
    stream = open_stream(given)
    ck.check_detectable(stream, query)
    begin = perf_counter()
    matches: Any = ck.detect(
        stream,
        query,
        _detection_plan(given, query, stream),
        limit=given.limit,
        sets=given.sets,
    )
    chosen = matches.plan

    def work() -> tuple[list[dict[str, Any]], int]:
        if target:
            return [], write(matches, target)
        shown = matches
        if repeated_in(query.structure):
            # Some sets can be shown where all would be too many.
            most = _SHOWN if given.limit is None else min(_SHOWN, given.limit)
            shown = ck.detect(stream, query, chosen, limit=most, sets=given.sets)
        return first_rows(shown, _SHOWN), matches.count()

    rows, number = run(work, "detecting", on_spark=given.spark)
    spent = perf_counter() - begin
    if given.json != "-":
        if rows:
            say(match_table(rows, query, stream.schema))
            if number > len(rows):
                all_of_them = "--out FILE writes them all"
                if repeated_in(query.structure) and number > MOST_SETS:
                    all_of_them = "--sets maximal finds the largest sets alone"
                say(f"... and {whole(number - len(rows))} more; {all_of_them}")
            say()
        limited = " (stopped there: --limit)" if number == given.limit else ""
        where = f", written to {target}" if target else ""
        say(f"{counted(number, 'match', 'matches')}{limited}{where} in {seconds(spent)}")
        say(f"plan: {one_line(chosen)} ({chosen.planner})")
    explanation = None
    if given.explain:
        explanation = run(matches.explain, "explaining", on_spark=given.spark)
        if given.json != "-":
            say(f"\n{explanation}")
    if given.json:
        found = {
            "matches": _as_data(number),
            "out": str(target) if target else None,
            "seconds": spent,
            "plan": _plan_as_data(chosen),
        }
        if explanation is not None:
            found["steps"] = [
                {name: _as_data(value) for name, value in asdict(step).items()}
                for step in explanation.steps
            ]
        write_json(given.json, json.dumps(found, indent=2, ensure_ascii=False))


def _known(given: argparse.Namespace, query: Query, stream: Stream | None) -> Statistics:
    if given.statistics:
        return read_statistics(given.statistics, query)
    assert stream is not None, "without statistics there are events"
    return _profiled(stream, query)


def _profiled(stream: Stream, query: Query) -> Statistics:
    # On Spark it shows its own progress.
    with contextlib.nullcontext() if stream.place == "spark" else working("profiling"):
        return ck.profile(stream, query)


def _planned(query: Query, statistics: Statistics, planner: str | None) -> Plan:
    if planner:
        return ck.choose_plan(query, statistics, planner)
    return ck.compare_plans(query, statistics).best


def _detection_plan(given: argparse.Namespace, query: Query, stream: Stream) -> Plan | None:
    """Return the plan that was asked for, None to leave it to detection."""
    if given.plan:
        return as_plan([name.strip() for name in given.plan.split(",")], query)
    if given.planner:
        PLANNERS.pick(given.planner)  # a wrong name is told before minutes of profiling
    if given.statistics:
        return _planned(query, read_statistics(given.statistics, query), given.planner)
    if not given.planner:
        return None
    # Detection warns of the same things, and knows the types that there are.
    with quiet_streams():
        return _planned(query, _profiled(stream, query), given.planner)


def _as_data(value: object) -> object:
    """Return a value as JSON can hold it: long counts of sets as texts, no infinity."""
    match value:
        case int() if abs(value) >= 2**63:
            return whole(value)
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _compared_as_data(row: ComparedPlan) -> dict[str, object]:
    measured = {} if row.measured is None else {"measured": asdict(row.measured)}
    not_run = {"not_run": row.not_run} if row.not_run else {}
    return {**_plan_as_data(row.plan), "seconds": row.seconds, **measured, **not_run}


def _plan_as_data(plan: Plan) -> dict[str, object]:
    cost = plan.cost
    return {
        "planner": plan.planner,
        "plan": one_line(plan),
        "orders": [list(branch.variables) for branch in plan.branches],
        # JSON has no infinity.
        "cost": cost if cost is not None and math.isfinite(cost) else None,
    }


def write_json(name: str, text: str) -> None:
    """Write a text that is JSON to a file, or to stdout."""
    if name == "-":
        say(text)
    else:
        Path(name).write_text(text + "\n", encoding="utf-8")
