"""The verb `simulate`: mechanisms event by event; totals, a trace, a page that plays."""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

import cepkit as ck
from cepkit.api.tracing import MOST_WORK
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.cli.inputs import open_stream, read_patterns
from cepkit.cli.options import (
    count,
    json_option,
    out_option,
    pattern_options,
    stream_options,
    table_of,
)
from cepkit.cli.output import check_targets, write_frame, write_json
from cepkit.cli.terminal import say, working
from cepkit.tracing import MechanismTrace


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Run mechanisms event by event. This finds the same matches as `detect`, far more slowly: "
        "it shows how. Several patterns run as one mechanism that shares their common parts."
    )
    command.epilog = f"mechanisms:\n{table_of(MECHANISMS.help)}"
    pattern_options(command, several=True)
    stream_options(command)
    group = command.add_argument_group("how")
    group.add_argument(
        "--mechanism",
        metavar="NAME",
        action="append",
        help="default: chain-nfa; repeat it to compare mechanisms",
    )
    group.add_argument(
        "--plan",
        metavar="ORDER",
        help='the order of the variables, as "c,b,a"; default: rare first',
    )
    command.set_defaults(refuse=command.error)
    group.add_argument("--limit", type=count, metavar="N", help="only the first N events")
    group.add_argument(
        "--max-steps", type=count, default=2_000, metavar="N", help="steps to keep; default: 2000"
    )
    group.add_argument(
        "--max-work",
        type=count,
        default=MOST_WORK,
        metavar="N",
        help=f"how much each may do before it is refused; default: {MOST_WORK}, some two seconds",
    )
    output = command.add_argument_group("output")
    output.add_argument(
        "--html", metavar="FILE", help="an .html page that plays all of them, offline"
    )
    output.add_argument(
        "--attribute",
        metavar="NAME",
        action="append",
        help="an attribute of the events for --html to show; repeat it; default: all",
    )
    output.add_argument(
        "--redact",
        metavar="NAME",
        action="append",
        help="an attribute of which --html shows which values are equal, and no value; repeat it",
    )
    out_option(output, "a .parquet or .csv file with the counters of each mechanism")
    json_option(output, "the trace (of the first)")


def run(arguments: argparse.Namespace) -> None:
    """Print the totals of mechanisms; write counters, the trace, or a page with a player."""
    query: Any = read_patterns(arguments)
    if isinstance(query, dict) and arguments.plan:
        arguments.refuse(f"--plan is for one pattern, and there are {len(query):,}")
    if not arguments.html and (arguments.attribute or arguments.redact):
        arguments.refuse("--attribute and --redact are about the page of --html")
    target = check_targets(arguments)
    mechanisms = [MECHANISMS.pick(name) for name in arguments.mechanism or ["chain-nfa"]]
    order = [name.strip() for name in arguments.plan.split(",")] if arguments.plan else None
    stream = open_stream(arguments)
    traces = []
    for mechanism in mechanisms:
        with working(f"running {mechanism.name}"):
            trace = ck.simulate(
                stream,
                query,
                mechanism.name,
                # All mechanisms that follow an order use the same one.
                order if mechanism.follows != "nothing" or len(mechanisms) == 1 else None,
                limit=arguments.limit,
                max_steps=arguments.max_steps,
                max_work=arguments.max_work,
            )
        if trace.truncated is not None and trace.truncated.ran is not None:
            say(f"{trace}\n")
            raise KeyboardInterrupt
        traces.append(trace)
        if arguments.json != "-":
            say(f"{trace}\n")
    if target:
        write_frame(arguments, pd.DataFrame(map(_counters, traces)), target)
    if arguments.json:
        write_json(arguments, traces[0].to_json())
    if arguments.html:
        player = ck.draw(
            traces if len(traces) > 1 else traces[0],
            attributes=arguments.attribute,
            redact=arguments.redact or (),
        )
        player.save_html(arguments.html, overwrite=arguments.overwrite)


def _counters(trace: MechanismTrace) -> dict[str, Any]:
    """Return the counters of a mechanism as a row of a table."""
    totals = trace.totals
    return {
        "mechanism": trace.mechanism,
        "plan": trace.plan,
        "events": totals.events,
        **totals.counts._asdict(),
        "peak_instances": totals.peak_instances,
        "peak_stored": totals.peak_stored,
    }
