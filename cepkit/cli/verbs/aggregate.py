"""The verb `aggregate`: aggregates of a pattern's matches, onto the terminal or into a file."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import cepkit as ck
from cepkit.cli.inputs import open_stream, read_pattern
from cepkit.cli.options import json_option, out_option, pattern_options, stream_options
from cepkit.cli.output import check_targets, write, write_json
from cepkit.cli.rows import table_of
from cepkit.cli.terminal import run_with_progress, say, seconds
from cepkit.routes.aggregates import EMITS, METHODS
from cepkit.statistics.tables import count_text, whole

_SHOWN = 10


def options(command: argparse.ArgumentParser) -> None:
    """Add what the command line takes."""
    command.description = (
        "Give the aggregates that AGG asks for. Without --out, the first rows and their number are "
        "printed."
    )
    pattern_options(command)
    stream_options(command)
    group = command.add_argument_group("which rows, and how")
    group.add_argument(
        "--emit",
        choices=EMITS,
        default="trigger",
        help="rows at each event that can end a match, about the matches live then (the default);"
        " also when matches expire; about those that the event completes; or one of all",
    )
    group.add_argument(
        "--method",
        choices=METHODS,
        default="auto",
        help="%(default)s if absent; all give the same rows",
    )
    output = command.add_argument_group("output")
    out_option(output, "a .parquet or .csv file; with --spark a folder of such files")
    json_option(output, "the number of rows, the first of them, and the method")


def run(arguments: argparse.Namespace) -> None:
    """Aggregate the matches of a pattern: into a file, or the first rows onto the terminal."""
    query = read_pattern(arguments)
    target = check_targets(arguments)
    stream = open_stream(arguments)
    begin = perf_counter()

    def work() -> tuple[Any, list[dict[str, Any]], int]:
        result: Any = ck.aggregate(stream, query, method=arguments.method, emit=arguments.emit)
        if stream.place == "spark":
            if target:
                return result, [], write(result, target, overwrite=arguments.overwrite)
            rows = result.select("*").limit(_SHOWN).toArrow().to_pylist()
            return result, rows, result.count()
        if target:
            number = write(result.to_arrow(), target, overwrite=arguments.overwrite)
            return result, [], number
        head = result.to_pandas().head(_SHOWN).astype(object)
        rows = head.where(head.notna(), None).to_dict("records")
        return result, rows, len(result)

    result, rows, number = run_with_progress(work, "aggregating", on_spark=arguments.spark)
    elapsed = perf_counter() - begin
    if arguments.json != "-":
        if rows:
            say(table_of(list(result.columns), rows))
            if number > len(rows):
                say(f"... and {whole(number - len(rows))} more; --out FILE writes them all")
            say()
        where = f", written to {target}" if target else ""
        say(f"{count_text(number, 'row')}{where} in {seconds(elapsed)}")
        say(f"by {result.method} ({result.reason})")
    if arguments.json:
        data = {
            "rows": number,
            "first_rows": rows,
            "out": str(target) if target else None,
            "seconds": elapsed,
            "method": result.method,
            "reason": result.reason,
        }
        write_json(arguments, data)
