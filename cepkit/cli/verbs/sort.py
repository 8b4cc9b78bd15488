"""The verb `sort`: writes events in the order of time, so that they need not fit into memory."""

from __future__ import annotations

import argparse

from cepkit.cli import options as opt
from cepkit.cli.terminal import run_with_progress, say
from cepkit.stream.sorting import sort_events
from cepkit.tables import count_text


def options(command: argparse.ArgumentParser) -> None:
    """Add the options of `cepkit sort`."""
    command.description = (
        "Write events in the order of time, as one Parquet file with small row groups: detect, "
        "aggregate and profile read it in pieces, so it need not fit into memory. DuckDB sorts "
        "files of any size (pip install duckdb); without it they must fit into memory here."
    )
    opt.add(command, "events FILE", "a CSV or Parquet file, or a folder of them")
    opt.add(command, "out OUT", "the .parquet file to write")
    opt.add(command, "--time COLUMN", "the time of an event", required=True)
    opt.overwrite_option(command)


def run(arguments: argparse.Namespace) -> None:
    """Write the events of a file in the order of time."""

    def work() -> int:
        return sort_events(
            arguments.events, arguments.out, arguments.time, overwrite=arguments.overwrite
        )

    rows = run_with_progress(work, "sorting", on_spark=False)
    say(f"{count_text(rows, 'row')} written to {arguments.out}")
