"""The verb `why-not`: explains why there is no match, or why some events do not match."""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import Any

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, order_of, read_pattern
from cepkit.cli.output import check_targets, records, report
from cepkit.cli.terminal import run_with_progress


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Explain why a pattern finds nothing: how many partial matches reach each requirement and "
        "pass it, and which combinations come closest. Or why the events of --event do not match."
    )
    opt.pattern_options(command)
    opt.stream_options(command)
    opt.threads_option(command)
    group = command.add_argument_group("the question")
    event = (
        "an event that should take part, by its row from 0 (or its value of --id); repeat it for "
        "several events"
    )
    opt.add(group, "--event VARIABLE=ROW", event, action="append", default=[])
    opt.add(group, "--id COLUMN", "the column whose values --event uses instead of rows")
    violations = "requirements that a near miss may violate; default: 1"
    opt.add(group, "--violations N", violations, default=1)
    opt.add(group, "--limit N", "the most near misses; default: 10", default=10)
    opt.add(group, "--plan ORDER", 'the order of the steps, as "c,b,a"')
    opt.clock_option(group)
    out = "a .parquet or .csv file with a row for each near miss"
    opt.output_options(command, out=out, json="the answer, the funnel and the near misses")


def run(arguments: argparse.Namespace) -> None:
    """Print or write why there is no match."""
    query = read_pattern(arguments)
    target = check_targets(arguments)
    events = defaultdict[str, list[object]](list)
    for variable, event in (_named(arguments, text) for text in arguments.event):
        events[variable].append(event)
    stream = open_stream(arguments)

    def work() -> Any:
        plan = order_of(arguments, query)
        given = opt.given(arguments, "id", "violations", "limit", "clock_error")
        named = {v: each[0] if len(each) == 1 else each for v, each in events.items()}
        return ck.why_not(stream, query, plan=plan, bindings=named, **given)

    answer = run_with_progress(work, "looking", on_spark=arguments.spark)
    misses = answer.near_misses.to_pandas()
    if len(misses):
        misses["violated"] = misses["violated"].map("; ".join)
    data = {
        "found": answer.found,
        "reason": answer.reason,
        "funnel": records(answer.funnel.to_pandas()),
        "near_misses": records(misses),
        "notes": list(answer.notes),
    }
    report(arguments, answer.text(arguments.limit), misses, target, data)


def _named(arguments: argparse.Namespace, text: str) -> tuple[str, object]:
    """Return the variable and the event of an --event."""
    variable, equals, value = text.partition("=")
    if not (variable and equals and value):
        arguments.refuse(f"--event '{text}' is not VARIABLE=ROW, as a=17")
    if arguments.id is None:
        try:
            return variable, int(value)
        except ValueError:
            arguments.refuse(f"--event {variable}={value}: a row is a number from 0, or name --id")
    return variable, value
