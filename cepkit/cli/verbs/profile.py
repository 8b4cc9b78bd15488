"""The verb `profile`: the summary of a stream, or its statistics for patterns."""

from __future__ import annotations

import argparse

import cepkit as ck
from cepkit.cli.inputs import open_stream, profiled, read_patterns
from cepkit.cli.options import (
    json_option,
    out_option,
    pattern_options,
    stream_options,
    threads_option,
)
from cepkit.cli.output import check_targets, write_frame, write_json
from cepkit.cli.terminal import say, working


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Without a pattern, describe a stream: its types with rates and gaps, and its "
        "columns. With patterns, measure arrival rates and selectivities; --json saves them, "
        "and `plan` and `detect` read them with --statistics."
    )
    pattern_options(command, several=True, required=False)
    stream_options(command)
    threads_option(command)
    output = command.add_argument_group("output")
    out_option(output, "without a pattern: a .parquet or .csv file with a row for each type")
    json_option(output, "the statistics, or the description of the stream")
    command.set_defaults(refuse=command.error)


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
    if arguments.json != "-":
        say(str(summary))
    if target:
        write_frame(arguments, summary.to_pandas(), target)
    if arguments.json:
        write_json(arguments, summary.to_json())
