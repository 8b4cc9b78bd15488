"""The verb `explain`: expected and actual numbers of each step of the evaluation."""

from __future__ import annotations

import argparse
from typing import Any

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, plan_of, read_patterns
from cepkit.cli.output import check_targets, plan_as_data, plans_as_data, records, report
from cepkit.cli.terminal import run_with_progress


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Run a pattern, or several in one pass, and print the expected and the actual candidates "
        "and survivors of each step of the plan."
    )
    opt.pattern_options(command, several=True)
    opt.stream_options(command)
    opt.threads_option(opt.plan_options(command))
    out = "a .parquet or .csv file with a row for each step"
    opt.output_options(command, out=out, json="the plan and the steps")


def run(arguments: argparse.Namespace) -> None:
    """Print or write the numbers of each step."""
    query = read_patterns(arguments)
    target = check_targets(arguments)
    stream = open_stream(arguments)
    if isinstance(query, dict):
        opt.refuse_for_several(arguments, query, "plan", "planner", "statistics")
        matches: Any = ck.detect(stream, query)
    else:
        query.check_detectable(stream)
        matches = ck.detect(stream, query, plan_of(arguments, query, stream))
    explanation = run_with_progress(matches.explain, "explaining", on_spark=arguments.spark)
    steps = explanation.to_pandas()
    if isinstance(query, dict):
        plans: dict[str, Any] = {"plans": plans_as_data(matches.names, matches.plans)}
    else:
        plans = {"plan": plan_as_data(matches.plan)}
    report(arguments, explanation, steps, target, {**plans, "steps": records(steps)})
