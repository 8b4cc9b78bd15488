"""The verb `profile`: the statistics of a stream, on the terminal or as JSON."""

from __future__ import annotations

import argparse

from cepkit.cli.inputs import open_stream, profiled, read_patterns
from cepkit.cli.options import json_option, pattern_options, stream_options
from cepkit.cli.output import check_targets, write_json
from cepkit.cli.terminal import say


def options(command: argparse.ArgumentParser) -> None:
    """Add what the command line takes."""
    command.description = (
        "Measure arrival rates and selectivities, of several patterns together. --json saves them; "
        "`plan` and `detect` read them again by --statistics."
    )
    pattern_options(command, several=True)
    stream_options(command)
    json_option(command, "the statistics")


def run(arguments: argparse.Namespace) -> None:
    """Print the statistics of a stream, or save them as JSON."""
    query = read_patterns(arguments)
    check_targets(arguments)
    statistics = profiled(open_stream(arguments), query)
    if arguments.json != "-":
        say(str(statistics))
    if arguments.json:
        write_json(arguments, statistics.to_json())
