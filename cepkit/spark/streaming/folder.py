"""A folder in which files arrive, as a streaming DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t
from pyspark.sql.pandas.types import from_arrow_schema

from cepkit.spark.session.local import get_session
from cepkit.stream.reading.nested import quoted
from cepkit.stream.schema import UNITS


def folder_frame(
    session: Any, folder: Path, kind: str, batch: DataFrame, *, time: str, unit: str | None
) -> DataFrame:
    """Return the files that arrive in a folder, with times as Spark's watermark needs them.

    Args:
        session: The Spark session; times that name no time zone are in its own.
        kind: "csv" or "parquet".
        batch: The files that are there now, from which the columns are known.
    """
    schema = batch.schema
    reader = session.readStream.schema(schema)
    if kind == "csv":
        reader = reader.option("header", True).option("escape", '"')
    frame: DataFrame = reader.format(kind).load(str(folder.resolve()))
    column = F.col(quoted(time))
    match schema[time].dataType if time in schema.names else None:
        case t.NumericType() if unit is not None and unit in UNITS:
            return frame.withColumn(time, F.timestamp_micros((column * UNITS[unit]).cast("long")))
        case t.TimestampNTZType() | t.StringType() | t.DateType():
            return frame.withColumn(time, column.cast("timestamp_ltz"))
        case _:
            return frame


def replayed_frame(session: Any, folder: Path, schema: pa.Schema) -> DataFrame:
    """Return the Parquet files that a replay puts into a folder, one for each micro-batch.

    Args:
        session: The Spark session; None: the one that is running, or a local one.
    """
    session = get_session() if session is None else session
    reader = session.readStream.schema(from_arrow_schema(schema)).option("maxFilesPerTrigger", 1)
    frame: DataFrame = reader.parquet(str(folder))
    return frame
