"""The verb `explain`: expected and actual numbers of each step of the evaluation."""

from __future__ import annotations

import argparse
from typing import Any

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, plan_of, read_patterns
from cepkit.cli.output import check_targets, plan_as_data, records, write_frame, write_json
from cepkit.cli.terminal import run_with_progress, say


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Run a pattern, or several in one pass, and print the expected and the actual candidates "
        "and survivors of each step of the plan."
    )
    opt.pattern_options(command, several=True)
    opt.stream_options(command)
    opt.threads_option(opt.plan_options(command))
    output = command.add_argument_group("output")
    opt.out_option(output, "a .parquet or .csv file with a row for each step")
    opt.json_option(output, "the plan and the steps")
    command.set_defaults(refuse=command.error)


def run(arguments: argparse.Namespace) -> None:
    """Print or write the numbers of each step."""
    query = read_patterns(arguments)
    target = check_targets(arguments)
    stream = open_stream(arguments)
    if isinstance(query, dict):
        for name in ("plan", "planner", "statistics"):
            if getattr(arguments, name):
                arguments.refuse(f"--{name} is for one pattern, and there are {len(query):,}")
        matches: Any = ck.detect(stream, query)
    else:
        query.check_detectable(stream)
        matches = ck.detect(stream, query, plan_of(arguments, query, stream))
    explanation = run_with_progress(matches.explain, "explaining", on_spark=arguments.spark)
    steps = explanation.to_pandas()
    if arguments.json != "-":
        say(str(explanation))
    if target:
        write_frame(arguments, steps, target)
    if arguments.json:
        plans = (
            {"plan": plan_as_data(matches.plan)}
            if not isinstance(query, dict)
            else {
                "plans": {
                    name: plan_as_data(plan)
                    for name, plan in zip(matches.names, matches.plans, strict=True)
                }
            }
        )
        write_json(arguments, {**plans, "steps": records(steps)})
