"""What goes into files: matches, there when they are whole, and an older file stays until then."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset

from cepkit.cli.terminal import say
from cepkit.errors import CepkitError, UnsupportedError
from cepkit.plan.nodes import Plan
from cepkit.plan.printer import one_line
from cepkit.statistics.tables import whole

_SUFFIXES = (".parquet", ".pq", ".csv")
_SPARK_IS_DONE = "_SUCCESS"


def check_target(arguments: argparse.Namespace) -> Path | None:
    """Return the path to write to, before anything is computed; None: nothing is written.

    Args:
        arguments: With `out`, `overwrite`, and `events`, which must not be replaced.

    Raises:
        CepkitError: It cannot, or must not, be written.
    """
    if not arguments.out:
        return None
    name = arguments.out
    target = Path(name).expanduser()
    if target.suffix.casefold() not in _SUFFIXES:
        raise CepkitError(
            f"cannot write '{target.suffix or name}' files",
            expected=f"a name that ends in {' or '.join(_SUFFIXES)}",
        )
    folder = target.parent
    if not folder.is_dir():
        raise CepkitError(f"'{name}' cannot be written", hint=f"there is no folder '{folder}'")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CepkitError(f"'{name}' cannot be written: no permission in '{folder}'")
    if _touches(target, Path(arguments.events).expanduser()):
        raise CepkitError(
            f"'{name}' is the file of the events, or lies among them", hint="name another place"
        )
    if target.exists() and not arguments.overwrite:
        raise CepkitError(f"'{name}' exists already", hint="--overwrite replaces it")
    if target.is_dir() and not (target / _SPARK_IS_DONE).exists():
        raise CepkitError(
            f"'{name}' is a folder that cepkit did not write", hint="remove it, or name another"
        )
    return target


def write(matches: Any, target: Path) -> int:
    """Write all matches, some at a time.

    Args:
        matches: What `detect` returned; from Spark, a folder is written, without passing here.
        target: From `check_target`.

    Returns:
        How many there are.
    """
    # In a folder of its own beside the target: the same disk, and gone whatever happens.
    try:
        beside = tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise CepkitError(f"'{target}' cannot be written: {error.strerror}") from error
    with beside as folder:
        # From the root: Spark may have been started in another folder.
        draft = Path(folder, target.name).resolve()
        is_csv = target.suffix.casefold() == ".csv"
        if not hasattr(matches, "batches"):
            count = _write_on_spark(matches, draft, is_csv=is_csv)
        elif is_csv:
            count = _write_csv(matches, draft)
        else:
            count = matches.write_parquet(draft)
        if target.is_dir():
            shutil.rmtree(target)
        draft.replace(target)
    return int(count)


def _touches(target: Path, source: Path) -> bool:
    """Return whether writing `target` would harm the events, or be read as events next time."""
    target, source = target.resolve(), source.resolve()
    among = source.is_dir() and source in target.parents
    return target == source or target in source.parents or among


def _write_on_spark(matches: Any, draft: Path, *, is_csv: bool) -> int:
    if not is_csv:
        matches.write.parquet(str(draft))
        return int(pa_dataset.dataset(draft, format="parquet").count_rows())
    columns = []
    for field in matches.schema.fields:
        name = _quoted(field.name)
        parts = [part.name for part in getattr(field.dataType, "fields", ())]
        columns += [f"{name}.{_quoted(p)} AS {_quoted(f'{field.name}.{p}')}" for p in parts]
        if not parts:
            columns.append(name)
    matches.selectExpr(*columns).write.csv(str(draft), header=True)
    written = matches.sparkSession.read.csv(str(draft), header=True, multiLine=True)
    return int(written.count())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _write_csv(matches: Any, draft: Path) -> int:
    schema = _flat(pa.RecordBatch.from_pylist([], schema=matches.schema)).schema
    nested = [f.name for f in schema if pa.types.is_nested(f.type)]
    if nested:
        raise UnsupportedError(
            f"a CSV file cannot hold '{nested[0]}', which is a list", hint="write a .parquet file"
        )
    written = 0
    with draft.open("wb") as file, pa_csv.CSVWriter(file, schema) as writer:
        for batch in matches.batches():
            writer.write_batch(_flat(batch))
            written += len(batch)
    return written


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with a column `a.price` for each field of each struct."""
    table = pa.Table.from_batches([batch]).flatten()
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def write_json(name: str, text: str) -> None:
    """Write a text that is JSON to a file, or to stdout where the name is "-"."""
    if name == "-":
        say(text)
    else:
        Path(name).write_text(text + "\n", encoding="utf-8")


def number_as_data(value: object) -> object:
    """Return a value as JSON can hold it: long counts of sets as texts, no infinity."""
    match value:
        case int() if abs(value) >= 2**63:
            return whole(value)
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def plan_as_data(plan: Plan) -> dict[str, object]:
    """Return a plan with its cost as JSON can hold it."""
    return {
        "planner": plan.planner,
        "plan": one_line(plan),
        "orders": [list(branch.variables) for branch in plan.branches],
        "cost": number_as_data(plan.cost),
    }
