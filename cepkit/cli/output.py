"""Output files of commands: checked before any computation, and written atomically."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset

from cepkit import files
from cepkit.cli.durations import DurationForm, DurationsWritten, in_sql
from cepkit.cli.terminal import run_with_progress, say
from cepkit.columnar.results.flat import flat_batch, flat_name, flat_schema
from cepkit.columnar.results.output import to_parquet
from cepkit.errors import UnsupportedError
from cepkit.lazy import pd
from cepkit.plan.nodes import Plan
from cepkit.plan.printer import one_line
from cepkit.stream.reading.nested import quoted
from cepkit.tables import count_text, whole

OPTION = "--overwrite"


def check_targets(arguments: argparse.Namespace) -> Path | None:
    """Check the output files before any computation; return the path for rows, or None.

    Args:
        arguments: With `overwrite`, the outputs of the command (`out`, `json`, `html`), and
            `events`, which must not be replaced.

    Raises:
        FileError: A file exists already, or cannot be written.
    """
    options: Any = {"overwrite": arguments.overwrite, "option": OPTION}
    if arguments.json not in (None, "-"):
        files.check_target(arguments.json, files.JSON, **options)
    if getattr(arguments, "html", None) is not None:
        files.check_target(arguments.html, files.HTML, **options)
    if getattr(arguments, "out", None) is None:
        return None
    target = files.check_target(arguments.out, files.PARQUET, files.CSV, folders=True, **options)
    if arguments.events:
        files.check_apart(target, Path(arguments.events).expanduser())
    return target


def write_json(arguments: argparse.Namespace, data: Any) -> None:
    """Write an object, or a text that is JSON, to the file of `--json`, or to stdout."""
    text = data
    if not isinstance(data, str):
        text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
    if arguments.json == "-":
        say(text)
    else:
        overwrite = arguments.overwrite
        files.write_text(
            arguments.json, f"{text}\n", files.JSON, overwrite=overwrite, option=OPTION
        )


def write(rows: Any, target: Path, *, overwrite: bool, durations: DurationForm = "iso") -> int:
    """Write all rows, batch by batch.

    Args:
        rows: An Arrow table, a result with batches of rows, or a Spark DataFrame; Spark itself
            writes the latter to a folder.
        target: From `check_targets`.
        durations: The form of durations in CSV files.

    Returns:
        The number of rows.
    """
    is_csv = target.suffix.casefold() in files.CSV.endings
    is_table = isinstance(rows, pa.Table)
    if not is_table and not hasattr(rows, "batches"):
        with files.whole_folder(target, overwrite=overwrite) as folder:
            return _write_on_spark(rows, folder, durations if is_csv else None)
    batches = rows.to_batches() if is_table else rows.batches()
    flat = flat_schema(rows.schema)
    if is_csv:
        # A set is one list, of events.
        _check_flat((f.name, pa.types.is_list(f.type)) for f in rows.schema)
        _check_flat((f.name, pa.types.is_nested(f.type)) for f in flat)
    with files.whole_file(target, overwrite=overwrite) as file:
        if is_csv:
            written = DurationsWritten(flat, durations)
            return _write_csv(map(written.batch, map(flat_batch, batches)), written.schema, file)
        return to_parquet(batches, rows.schema, file)


def write_frame(arguments: argparse.Namespace, frame: pd.DataFrame, target: Path) -> None:
    """Write a DataFrame to the file of `--out`, and say so.

    Args:
        arguments: With `overwrite` and `json`.
        target: From `check_targets`.
    """
    table = pa.Table.from_pandas(frame, preserve_index=False)
    write(table, target, overwrite=arguments.overwrite)
    if arguments.json != "-":
        say(f"{count_text(len(frame), 'row')}, written to {target}")


def report(
    arguments: argparse.Namespace,
    shown: object,
    rows: pd.DataFrame,
    target: Path | None,
    data: Any,
) -> None:
    """Print a result, write its rows to the file of `--out`, and its data to that of `--json`.

    Args:
        arguments: With `overwrite` and `json`.
        shown: What is printed; nothing if `--json` takes stdout.
        rows: What `--out` writes.
        target: From `check_targets`.
        data: An object, or a text that is JSON.
    """
    if arguments.json != "-":
        say(str(shown))
    if target:
        write_frame(arguments, rows, target)
    if arguments.json:
        write_json(arguments, data)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame as JSON data."""
    rows = pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    return [{name: number_as_data(value) for name, value in row.items()} for row in rows]


def explained(arguments: argparse.Namespace, matches: Any) -> Any:
    """If --explain is given, print and return the counts of each step; else return None."""
    if not arguments.explain:
        return None
    explanation = run_with_progress(matches.explain, "explaining", on_spark=arguments.spark)
    if arguments.json != "-":
        say(f"\n{explanation}")
    return explanation


def _write_on_spark(rows: Any, folder: Path, durations: DurationForm | None) -> int:
    """Write rows as CSV files with durations in a form, or as Parquet."""
    if durations is None:
        rows.write.parquet(str(folder))
        return int(pa_dataset.dataset(folder, format="parquet").count_rows())
    columns, kinds = [], {}
    for field in rows.schema.fields:
        parts = getattr(field.dataType, "fields", ())
        for part in parts:
            name = flat_name(field.name, part.name)
            columns.append(f"{quoted(field.name)}.{quoted(part.name)} AS {quoted(name)}")
            kinds[name] = part.dataType.typeName()
        if not parts:
            columns.append(quoted(field.name))
            kinds[field.name] = field.dataType.typeName()
    _check_flat((n, kind in ("array", "map", "struct", "variant")) for n, kind in kinds.items())
    flat = rows.selectExpr(*columns)
    flat = flat.selectExpr(
        *(
            f"{in_sql(quoted(n), durations)} AS {quoted(n)}"
            if k.startswith("interval day")
            else quoted(n)
            for n, k in flat.dtypes
        )
    )
    flat.write.csv(str(folder), header=True)
    written = rows.sparkSession.read.csv(str(folder), header=True, multiLine=True)
    return int(written.count())


def _check_flat(fields: Iterable[tuple[str, bool]]) -> None:
    nested = [name for name, is_nested in fields if is_nested]
    if nested:
        raise UnsupportedError(
            f"a CSV file cannot hold '{nested[0]}', which is a list", hint="write a .parquet file"
        )


def _write_csv(batches: Iterable[pa.RecordBatch], schema: pa.Schema, file: Any) -> int:
    written = 0
    with pa_csv.CSVWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            written += len(batch)
    return written


def number_as_data(value: object) -> object:
    """Return a value as JSON data: long counts of sets as texts, no infinity."""
    match value:
        case int() if abs(value) >= 2**63:
            return whole(value)
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def plan_as_data(plan: Plan) -> dict[str, object]:
    """Return a plan with its cost as JSON data."""
    return {
        "planner": plan.planner,
        "plan": one_line(plan),
        "orders": [list(branch.variables) for branch in plan.branches],
        "cost": number_as_data(plan.cost),
    }


def plans_as_data(names: Iterable[str], plans: Iterable[Plan]) -> dict[str, object]:
    """Return the plans of several patterns as JSON data, by the names of the patterns."""
    return dict(zip(names, map(plan_as_data, plans), strict=True))
