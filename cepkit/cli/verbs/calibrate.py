"""The verb `calibrate`: the matches of a pattern for many values of its parameters."""

from __future__ import annotations

import argparse
from typing import Any

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, read_pattern
from cepkit.cli.output import check_targets, records, write_frame, write_json
from cepkit.cli.terminal import run_with_progress, say


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Count the matches of a pattern with parameters, such as $k in WHERE b.amount > $k, for "
        "many values of them; with labels also hits, misses and false alarms. In a shell the "
        "pattern goes in single quotes, or $k is lost."
    )
    opt.pattern_options(command)
    opt.stream_options(command)
    group = command.add_argument_group("the values")
    group.add_argument(
        "--set",
        metavar="NAME=VALUES",
        action="append",
        default=[],
        help="the values of a parameter, as k=10,20,30 or t=1s,5s; repeat it for several "
        "parameters; default: those at which the number of matches changes",
    )
    group.add_argument(
        "--labels",
        metavar="FILE",
        help="a CSV or Parquet file of incidents, with a column `time` and, with --by, one of keys",
    )
    group.add_argument(
        "--by", metavar="COLUMN", help="the key that a match shares with its incident"
    )
    group.add_argument(
        "--tolerance",
        metavar="DURATION",
        default="0 seconds",
        help="how far from an incident a match may end; default: %(default)s",
    )
    group.add_argument("--miss", type=float, default=1.0, help="the cost of a miss; default: 1")
    group.add_argument(
        "--false-alarm", type=float, default=1.0, help="the cost of a false alarm; default: 1"
    )
    output = command.add_argument_group("output")
    opt.out_option(output, "a .parquet or .csv file with a row for each choice of values")
    opt.json_option(output, "the rows, the best one, and the pattern with its values")
    command.set_defaults(refuse=command.error)


def run(arguments: argparse.Namespace) -> None:
    """Print or write the counts."""
    query = read_pattern(arguments)
    target = check_targets(arguments)
    grids: dict[str, Any] = dict(_values(arguments, text) for text in arguments.set)
    stream = open_stream(arguments)

    def work() -> Any:
        return ck.calibrate(
            stream,
            query,
            labels=arguments.labels,
            by=arguments.by,
            tolerance=arguments.tolerance,
            miss=arguments.miss,
            false_alarm=arguments.false_alarm,
            **grids,
        )

    curve = run_with_progress(work, "calibrating", on_spark=arguments.spark)
    if arguments.json != "-":
        say(str(curve))
        if curve.best is not None:
            say(f"\n{curve.bind()}")
    if target:
        write_frame(arguments, curve.to_pandas(), target)
    if arguments.json:
        data = {"rows": records(curve.to_pandas()), "detections": curve.runs}
        if curve.best is not None:
            data |= {"best": list(curve.best.values), "pattern": str(curve.bind())}
        write_json(arguments, data)


def _values(arguments: argparse.Namespace, text: str) -> tuple[str, list[Any]]:
    """Return the parameter and the values of a --set."""
    name, equals, values = text.partition("=")
    if not (name and equals and values):
        arguments.refuse(f"--set '{text}' is not NAME=VALUES, as k=10,20,30")
    return name.removeprefix("$"), [_value(value.strip()) for value in values.split(",")]


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
