"""The command that runs mechanisms event by event: totals, a trace, a page that plays."""

from __future__ import annotations

import argparse

import cepkit as ck
from cepkit.automata import MECHANISMS
from cepkit.cli.inputs import open_stream, read_pattern
from cepkit.cli.terminal import say, working


def simulate(given: argparse.Namespace) -> None:
    """Print what mechanisms did; write the trace as JSON, or a page on which all of them play."""
    query = read_pattern(given)
    mechanisms = [MECHANISMS.pick(name) for name in given.mechanism or ["chain-nfa"]]
    order = [name.strip() for name in given.plan.split(",")] if given.plan else None
    stream = open_stream(given)
    traces = []
    for mechanism in mechanisms:
        with working(f"running {mechanism.name}"):
            trace = ck.simulate(
                stream,
                query,
                mechanism.name,
                # One order for all of several mechanisms that follow one.
                order if mechanism.follows != "nothing" or len(mechanisms) == 1 else None,
                limit=given.limit,
                max_steps=given.max_steps,
            )
        traces.append(trace)
        if given.json != "-":
            say(f"{trace}\n")
    if given.json == "-":
        say(traces[0].to_json())
    elif given.json:
        traces[0].to_json(given.json)
    if given.html:
        ck.draw(traces if len(traces) > 1 else traces[0]).save_html(given.html)
