"""The verb `plan`: the plans of all planners side by side, and the chosen one."""

from __future__ import annotations

import argparse
from dataclasses import asdict

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, profiled, read_patterns, read_statistics
from cepkit.cli.output import check_targets, plan_as_data, report
from cepkit.cli.several import plan_several
from cepkit.cli.terminal import quiet_streams, working
from cepkit.columnar.results.measuring import run_plans
from cepkit.costs import COSTS
from cepkit.planners import PLANNERS
from cepkit.planners.compare import ComparedPlan

_COST, _COST_OF_SEVERAL = "partial-matches", "work"


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Compare plans by their expected cost; for several patterns, show plans that share common"
        " parts. Needs a file of events to profile, or --statistics."
    )
    command.epilog = (
        f"planners:\n{opt.table_of(PLANNERS.help)}\n\ncosts:\n{opt.table_of(COSTS.help)}"
    )
    opt.pattern_options(command, several=True)
    opt.stream_options(command, required=False)
    opt.statistics_option(command)
    opt.add(command, "--planner NAME", "choose this planner's plan; default: the best")
    cost = f"the cost model; default: {_COST}, for several patterns {_COST_OF_SEVERAL}"
    opt.add(command, "--cost NAME", cost)
    ran = "also run each plan over the first N events (100000 without N)"
    opt.add(command, "--run N", ran, dest="run_events", nargs="?", const=100_000)
    opt.out_option(command, "a .parquet or .csv file with a row for each plan")
    opt.json_option(command, "the plans")


def run(arguments: argparse.Namespace) -> None:
    """Print the plans of all planners, and the chosen one."""
    _check(arguments)
    query = read_patterns(arguments)
    target = check_targets(arguments)
    if isinstance(query, dict):
        plan_several(arguments, query, arguments.cost or _COST_OF_SEVERAL)
        return
    cost = COSTS.pick(arguments.cost or _COST)
    if arguments.planner:
        PLANNERS.pick(arguments.planner)  # refuse a wrong name before minutes of profiling
    stream = None
    if arguments.run_events or not arguments.statistics:
        stream = open_stream(arguments)
    if arguments.statistics:
        statistics = read_statistics(arguments.statistics, query)
    else:
        assert stream is not None, "without statistics there are events"
        statistics = profiled(stream, query)
    with working("planning"):
        comparison = ck.compare_plans(query, statistics, cost=cost)
    plan = comparison.best
    if arguments.planner:
        plan = ck.choose_plan(query, statistics, arguments.planner, cost=cost)
    if arguments.run_events and stream is not None:
        query.check_detectable(stream)
        # The beginning of a stream may lack some of its types.
        with working("running the plans"), quiet_streams():
            comparison = run_plans(comparison, stream.head(arguments.run_events))
    data = {
        "cost_model": comparison.cost_model,
        "chosen": plan_as_data(plan),
        "plans": [_compared_as_data(row) for row in comparison.rows],
        "refused": dict(comparison.refused),
    }
    text = f"{comparison}\n\nchosen: {plan}"
    report(arguments, text, comparison.to_pandas(), target, data)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a command line with neither statistics nor events."""
    needed = ("events", "time")
    missing = [f"--{name}" for name in needed if getattr(arguments, name) is None]
    if missing and not arguments.statistics:
        arguments.refuse(f"nothing to plan by: {', '.join(missing)} missing, or --statistics")
    if missing and arguments.run_events is not None:
        arguments.refuse(f"nothing to run plans over: {', '.join(missing)} missing")
    if arguments.run_events == 0:
        arguments.refuse("--run 0: plans need an event or more")


def _compared_as_data(row: ComparedPlan) -> dict[str, object]:
    measured = {} if row.measured is None else {"measured": asdict(row.measured)}
    not_run = {"not_run": row.not_run} if row.not_run else {}
    return {**plan_as_data(row.plan), "seconds": row.seconds, **measured, **not_run}
