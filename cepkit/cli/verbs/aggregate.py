"""The verb `aggregate`: prints aggregates of a pattern's matches, or writes them to a file."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import pyarrow as pa

import cepkit as ck
from cepkit.aggregation.rows.result import Aggregates
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, read_patterns
from cepkit.cli.output import check_targets, write, write_json
from cepkit.cli.rows import table_of
from cepkit.cli.terminal import run_with_progress, say, seconds
from cepkit.routes.ways import EMITS, METHODS
from cepkit.tables import count_text, whole

_SHOWN = 10


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Compute the aggregates that AGG asks for, for a pattern or for several in one pass. "
        "Without --out, print the first rows and their number."
    )
    opt.pattern_options(command, several=True)
    opt.stream_options(command)
    group = command.add_argument_group("which rows, and how")
    opt.threads_option(group)
    emit = (
        "trigger: a row at each event that can end a match, over the live matches (the default); "
        "changes: also when matches expire; new: over the matches that the event completes; "
        "total: one row over all matches"
    )
    opt.add(group, "--emit", emit, choices=EMITS, default="trigger")
    method = "default: %(default)s; all give the same rows"
    opt.add(group, "--method", method, choices=METHODS, default="auto")
    error = "estimate the total from random walks, to within this share of it, as 0.02"
    opt.add(group, "--error SHARE", error, type=float)
    confidence = "of --error: how sure each interval is; default: %(default)s"
    opt.add(group, "--confidence SHARE", confidence, type=float, default=0.95)
    opt.add(group, "--seed N", "of the walks of --error", default=0)
    output = command.add_argument_group("output")
    out = (
        "a .parquet or .csv file; with --spark a folder of such files; for several patterns with "
        "a column `pattern`"
    )
    opt.out_option(output, out)
    opt.durations_option(output)
    opt.json_option(output, "the number of rows, the first of them, and the method")


def run(arguments: argparse.Namespace) -> None:
    """Aggregate the matches of patterns: write a file, or print the first rows."""
    query = read_patterns(arguments)
    target = check_targets(arguments)
    stream = open_stream(arguments)
    begin = perf_counter()

    def work() -> tuple[Any, list[_Shown], int]:
        given = opt.given(arguments, "method", "emit", "error", "confidence", "seed")
        result: Any = ck.aggregate(stream, query, **given)
        if target:
            rows = _together(result) if isinstance(query, dict) else _rows(result)
            return result, [], write(rows, target, **opt.given(arguments, "overwrite", "durations"))
        if isinstance(query, dict):
            parts = [_first(name, each) for name, each in zip(query, result, strict=True)]
        else:
            parts = [_first("", result)]
        return result, parts, sum(part.number for part in parts)

    result, parts, number = run_with_progress(work, "aggregating", on_spark=arguments.spark)
    elapsed = perf_counter() - begin
    if arguments.json != "-":
        for part in parts:
            _print(part)
        where = f", written to {target}" if target else ""
        say(f"{count_text(number, 'row')}{where} in {seconds(elapsed)}")
        say(
            str(result.plan) if isinstance(query, dict) else f"by {result.method} ({result.reason})"
        )
    if arguments.json:
        data: dict[str, Any] = {
            "rows": number,
            "out": str(target) if target else None,
            "seconds": elapsed,
        }
        if isinstance(query, dict):
            methods = dict(zip(query, (each.method for each in result), strict=True))
            data |= {"first_rows": {part.name: part.rows for part in parts}, "methods": methods}
        else:
            rows = parts[0].rows if parts else []
            data |= {"first_rows": rows, "method": result.method, "reason": result.reason}
        write_json(arguments, data)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The aggregates of a pattern: its name, their columns, the first rows, how many there are."""

    name: str
    columns: list[str]
    rows: list[dict[str, Any]]
    number: int


def _first(name: str, result: Any) -> _Shown:
    """Return the first rows of a result, local or from Spark."""
    if isinstance(result, Aggregates):
        table = result.to_arrow()
        return _Shown(name, table.column_names, table.slice(0, _SHOWN).to_pylist(), len(table))
    rows = result.select("*").limit(_SHOWN).toArrow().to_pylist()
    return _Shown(name, list(result.columns), rows, result.count())


def _print(part: _Shown) -> None:
    if part.name:
        say(f"{part.name}: {count_text(part.number, 'row')}")
    if part.rows:
        say(table_of(part.columns, part.rows))
        if part.number > len(part.rows):
            say(f"... and {whole(part.number - len(part.rows))} more; --out FILE writes them all")
    if part.rows or part.name:
        say()


def _rows(result: Any) -> Any:
    """Return the rows to write: local ones, or the DataFrame on Spark."""
    return result.to_arrow() if isinstance(result, Aggregates) else result


def _together(results: Any) -> Any:
    """Return the rows of several patterns with their names in the column `pattern`."""
    if results.workers is not None:
        return results.together
    tables = []
    for name, result in zip(results.names, results, strict=True):
        table = result.to_arrow()
        names = pa.array([name] * len(table), pa.string())
        tables.append(table.add_column(0, "pattern", names))
    return pa.concat_tables(tables, promote_options="permissive")
