"""The verb `calibrate`: the matches of a pattern for many values of its parameters."""

from __future__ import annotations

import argparse
from typing import Any

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, read_pattern
from cepkit.cli.output import check_targets, records, report
from cepkit.cli.terminal import run_with_progress


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
    values = (
        "the values of a parameter, as k=10,20,30 or t=1s,5s; repeat it for several parameters; "
        "default: those at which the number of matches changes"
    )
    opt.add(group, "--set NAME=VALUES", values, action="append", default=[])
    labels = "a CSV or Parquet file of incidents, with a column `time` and, with --by, one of keys"
    opt.add(group, "--labels FILE", labels)
    opt.add(group, "--by COLUMN", "the key that a match shares with its incident")
    tolerance = "how far from an incident a match may end; default: %(default)s"
    opt.add(group, "--tolerance DURATION", tolerance, default="0 seconds")
    opt.add(group, "--miss MISS", "the cost of a miss; default: 1", type=float, default=1.0)
    alarm = "the cost of a false alarm; default: 1"
    opt.add(group, "--false-alarm FALSE_ALARM", alarm, type=float, default=1.0)
    opt.output_options(
        command,
        out="a .parquet or .csv file with a row for each choice of values",
        json="the rows, the best one, and the pattern with its values",
    )


def run(arguments: argparse.Namespace) -> None:
    """Print or write the counts."""
    query = read_pattern(arguments)
    target = check_targets(arguments)
    grids: dict[str, Any] = dict(_values(arguments, text) for text in arguments.set)
    stream = open_stream(arguments)

    def work() -> Any:
        given = opt.given(arguments, "labels", "by", "tolerance", "miss", "false_alarm")
        return ck.calibrate(stream, query, **given, **grids)

    curve = run_with_progress(work, "calibrating", on_spark=arguments.spark)
    rows = curve.to_pandas()
    text, data = str(curve), {"rows": records(rows), "detections": curve.runs}
    if curve.best is not None:
        pattern = str(curve.bind())
        text += f"\n\n{pattern}"
        data |= {"best": list(curve.best.values), "pattern": pattern}
    report(arguments, text, rows, target, data)


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
