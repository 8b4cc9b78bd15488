"""The command `aggregate`: aggregates of a pattern's matches, onto the terminal or into a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import cepkit as ck
from cepkit.cli.commands import write_json
from cepkit.cli.inputs import open_stream, read_pattern
from cepkit.cli.output import check_target, write
from cepkit.cli.rows import table_of
from cepkit.cli.terminal import counted, run, say, seconds
from cepkit.statistics.tables import whole

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class _Table:
    """A table as `write` takes matches."""

    table: pa.Table

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self.table.to_batches()

    def write_parquet(self, path: Path) -> int:
        pq.write_table(self.table, path)
        return len(self.table)


def aggregate(given: argparse.Namespace) -> None:
    """Aggregate the matches of a pattern: into a file, or the first rows onto the terminal."""
    query = read_pattern(given)
    target = check_target(given)
    stream = open_stream(given)
    begin = perf_counter()

    def work() -> tuple[Any, list[dict[str, Any]], int]:
        found: Any = ck.aggregate(stream, query, method=given.method, emit=given.emit)
        if stream.place == "spark":
            if target:
                return found, [], write(found, target)
            rows = found.select("*").limit(_SHOWN).toArrow().to_pylist()
            return found, rows, found.count()
        if target:
            return found, [], write(_Table(found.to_arrow()), target)
        shown = found.to_pandas().head(_SHOWN).astype(object)
        rows = shown.where(shown.notna(), None).to_dict("records")
        return found, rows, len(found)

    found, rows, number = run(work, "aggregating", on_spark=given.spark)
    spent = perf_counter() - begin
    if given.json != "-":
        if rows:
            say(table_of(list(found.columns), rows))
            if number > len(rows):
                say(f"... and {whole(number - len(rows))} more; --out FILE writes them all")
            say()
        where = f", written to {target}" if target else ""
        say(f"{counted(number, 'row')}{where} in {seconds(spent)}")
        say(f"by {found.method} ({found.reason})")
    if given.json:
        told = {
            "rows": number,
            "first_rows": rows,
            "out": str(target) if target else None,
            "seconds": spent,
            "method": found.method,
            "reason": found.reason,
        }
        write_json(given.json, json.dumps(told, indent=2, ensure_ascii=False, default=str))
