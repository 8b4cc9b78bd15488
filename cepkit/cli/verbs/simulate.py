"""The verb `simulate`: mechanisms event by event; totals, a trace, a page that plays."""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

import cepkit as ck
from cepkit.api.tracing import MOST_WORK
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, read_patterns
from cepkit.cli.output import check_targets, write_frame, write_json
from cepkit.cli.terminal import say, working
from cepkit.tracing import MechanismTrace


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Run mechanisms event by event. This finds the same matches as `detect`, far more slowly: "
        "it shows how. Several patterns run as one mechanism that shares their common parts."
    )
    command.epilog = f"mechanisms:\n{opt.table_of(MECHANISMS.help)}"
    opt.pattern_options(command, several=True)
    opt.stream_options(command)
    group = command.add_argument_group("how")
    mechanism = "default: chain-nfa; repeat it to compare mechanisms"
    opt.add(group, "--mechanism NAME", mechanism, action="append")
    order = 'the order of the variables, as "c,b,a"; default: rare first'
    opt.add(group, "--plan ORDER", order)
    opt.add(group, "--limit N", "only the first N events")
    opt.add(group, "--max-steps N", "steps to keep; default: 2000", default=2_000)
    work = f"how much each may do before it is refused; default: {MOST_WORK}, some two seconds"
    opt.add(group, "--max-work N", work, default=MOST_WORK)
    output = command.add_argument_group("output")
    opt.add(output, "--html FILE", "an .html page that plays all of them, offline")
    shown = "an attribute of the events for --html to show; repeat it; default: all"
    opt.add(output, "--attribute NAME", shown, action="append")
    hidden = "an attribute of which --html shows which values are equal, and no value; repeat it"
    opt.add(output, "--redact NAME", hidden, action="append")
    opt.out_option(output, "a .parquet or .csv file with the counters of each mechanism")
    opt.json_option(output, "the trace (of the first)")


def run(arguments: argparse.Namespace) -> None:
    """Print the totals of mechanisms; write counters, the trace, or a page with a player."""
    query: Any = read_patterns(arguments)
    if isinstance(query, dict):
        opt.refuse_for_several(arguments, query, "plan")
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
