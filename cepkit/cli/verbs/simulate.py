"""The verb `simulate`: mechanisms event by event; totals, a trace, a page that plays."""

from __future__ import annotations

import argparse

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.cli.inputs import open_stream, read_pattern
from cepkit.cli.options import count, json_option, pattern_options, stream_options, table_of
from cepkit.cli.output import check_targets, write_json
from cepkit.cli.terminal import say, working


def options(command: argparse.ArgumentParser) -> None:
    """Add what the command line takes."""
    command.description = (
        "Run mechanisms event by event. It finds what `detect` finds, far more slowly: it is for "
        "seeing how."
    )
    command.epilog = f"mechanisms:\n{table_of(MECHANISMS.help)}"
    pattern_options(command)
    stream_options(command)
    group = command.add_argument_group("how")
    group.add_argument(
        "--mechanism",
        metavar="NAME",
        action="append",
        help="chain-nfa if nothing is said; more than once, to compare",
    )
    group.add_argument(
        "--plan", metavar="ORDER", help='the order of the variables, as "c,b,a"; else rare first'
    )
    group.add_argument("--limit", type=count, metavar="N", help="the first N events alone")
    group.add_argument(
        "--max-steps", type=count, default=2_000, metavar="N", help="steps to keep; 2000 if absent"
    )
    output = command.add_argument_group("output")
    output.add_argument(
        "--html", metavar="FILE", help="an .html page that plays all of them, offline"
    )
    json_option(output, "the trace (of the first)")


def run(arguments: argparse.Namespace) -> None:
    """Print what mechanisms did; write the trace as JSON, or a page on which all of them play."""
    query = read_pattern(arguments)
    check_targets(arguments)
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
                # One order for all of several mechanisms that follow one.
                order if mechanism.follows != "nothing" or len(mechanisms) == 1 else None,
                limit=arguments.limit,
                max_steps=arguments.max_steps,
            )
        traces.append(trace)
        if arguments.json != "-":
            say(f"{trace}\n")
    if arguments.json:
        write_json(arguments, traces[0].to_json())
    if arguments.html:
        player = ck.draw(traces if len(traces) > 1 else traces[0])
        player.save_html(arguments.html, overwrite=arguments.overwrite)
