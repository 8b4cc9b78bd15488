"""The verb `profile`: the summary of a stream, or its statistics for patterns."""

from __future__ import annotations

import argparse

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, profiled, read_patterns
from cepkit.cli.output import check_targets, report, write_json
from cepkit.cli.terminal import say, working


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Without a pattern, describe a stream: its types with rates and gaps, and its "
        "columns. With patterns, measure arrival rates and selectivities; --json saves them, "
        "and `plan` and `detect` read them with --statistics."
    )
    opt.pattern_options(command, several=True, required=False)
    opt.stream_options(command)
    opt.threads_option(command)
    out = "without a pattern: a .parquet or .csv file with a row for each type"
    opt.output_options(command, out=out, json="the statistics, or the description of the stream")


def run(arguments: argparse.Namespace) -> None:
    """Print the statistics of a stream, or save them as JSON."""
    if arguments.pattern is None and arguments.pattern_text is None:
        _summarize(arguments)
        return
    if arguments.out:
        arguments.refuse("--out is for a profile without a pattern; --json saves statistics")
    query = read_patterns(arguments)
    check_targets(arguments)
    statistics = profiled(open_stream(arguments), query)
    if arguments.json != "-":
        say(str(statistics))
    if arguments.json:
        write_json(arguments, statistics.to_json())


def _summarize(arguments: argparse.Namespace) -> None:
    """Print or save the summary of a stream."""
    target = check_targets(arguments)
    stream = open_stream(arguments)
    with working("reading"):
        summary = ck.profile(stream)
    report(arguments, summary, summary.to_pandas(), target, summary.to_json())
