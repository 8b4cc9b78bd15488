"""Files as Spark DataFrames, with the same columns and types as the local reader's."""

from __future__ import annotations

import codecs
import gzip
import logging
import re
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pa_dataset

import cepkit as ck
from cepkit.errors import StreamError
from cepkit.progress import Progress
from cepkit.stream.paths import path_of, shown
from cepkit.stream.reading.csv_files import CsvFormat, csv_names
from cepkit.stream.reading.json_lines import is_json
from cepkit.stream.reading.nested import quoted
from cepkit.stream.reading.readers import data_at, json_files

_GLOB = re.compile(r"[\\\[\]{}*?,]")


def quiet_session(progress: Progress = "auto") -> Any:
    """Return a Spark session that leaves messages about errors and interrupts to us.

    Spark logs a failed or cancelled write with pages of Java traceback in addition to raising it.
    Its Ctrl-C handler calls Java, which fails with pages of Python traceback in the middle of
    another call; and Py4J logs an interrupt in addition to raising it.
    """
    on_interrupt = signal.getsignal(signal.SIGINT)
    session = ck.get_session(progress=progress)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)
    # A logger's filter does not apply to records of its child loggers.
    for name in (None, "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(_is_no_interrupt)
    session.sparkContext.setLogLevel("OFF")
    # Not INT96, which other readers interpret as times without a zone.
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return session


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Return whether a record is about anything but an interrupt and its consequences."""
    error = record.exc_info[1] if record.exc_info else None
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return False
        error = error.__context__
    return True


def read_on_spark(
    name: str, sep: str | None = None, encoding: str | None = None, decimal: str | None = None
) -> Any:
    """Return a CSV, JSON or Parquet file, or a folder of them, as a Spark DataFrame.

    Args:
        name: A path, or an address that Spark understands (s3a://...).
        sep: What separates the fields of CSV files; None: a comma.
        encoding: The encoding of CSV files; None: UTF-8.
        decimal: The decimal point of CSV files; None: a point.
    """
    session = quiet_session()
    # Java has another name for Latin-1 than Python.
    known = codecs.lookup(encoding or "utf-8").name.replace("iso8859", "iso-8859")
    csv = {"sep": sep or ",", "encoding": known}
    if "://" in name:
        if is_json(name):
            return session.read.json(name)
        is_csv = name.casefold().endswith((".csv", ".csv.gz"))
        return _csv(session, name, csv, decimal) if is_csv else session.read.parquet(name)
    # An absolute path, because Spark may have started in another folder; and not a glob.
    path = path_of(name).resolve()
    place = _GLOB.sub(r"\\\g<0>", str(path))
    if is_json(name) or json_files(path):
        files = json_files(path) or [path]
        array = all(_is_array(file) for file in files)
        return session.read.json([_GLOB.sub(r"\\\g<0>", str(f)) for f in files], multiLine=array)
    data = data_at(path, "csv" if sep else None)
    if data.format == "csv":
        form = CsvFormat(sep or ",", encoding=encoding or "utf-8")
        one, *others = {csv_names(file, form): file for file in reversed(data.files)}.values()
        if others:  # Spark goes by the places of columns
            raise StreamError(
                f"{shown(one)} and {shown(others[0])} differ in columns or their order",
                expected="files with the same first line, with --spark",
                hint="leave --spark out",
            )
        return _csv(session, place, csv, decimal)
    return _parquet(session, place, pa_dataset.dataset(path, format="parquet").schema)


def _is_array(path: Path) -> bool:
    """Return whether a JSON file holds one array, and not an object in each line."""
    with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as file:
        return file.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _csv(session: Any, place: str, written: Mapping[str, str], decimal: str | None) -> Any:
    # Without the check, a file with columns in another order would be read by their places.
    checked = {"recursiveFileLookup": True, "enforceSchema": False}
    reader = session.read.options(**checked, **written)
    # Times without a zone stay so: --timezone decides their zone, not the machine.
    setting = "spark.sql.timestampType"
    before = session.conf.get(setting)
    session.conf.set(setting, "TIMESTAMP_NTZ")
    try:
        frame = reader.csv(place, header=True, inferSchema=True, escape='"')
        if decimal in (None, "."):
            return frame
        from cepkit.spark.cells.decimals import texts_for_doubles, with_numbers

        schema = texts_for_doubles(frame.schema)
        return with_numbers(reader.csv(place, schema, header=True, escape='"'), decimal)
    finally:
        session.conf.set(setting, before)


def _parquet(session: Any, place: str, schema: pa.Schema) -> Any:
    """Read Parquet files, including those of pandas with nanoseconds, which Spark refuses."""
    fine = {f.name: f.type for f in schema if pa.types.is_timestamp(f.type) and f.type.unit == "ns"}
    if not fine:
        return session.read.parquet(place)
    session.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    frame = session.read.parquet(place)
    columns = []
    for name in frame.columns:
        column = quoted(name)
        if name in fine:
            micros = f"({column} - pmod({column}, 1000L)) div 1000L"
            moment = (
                f"timestamp_micros({micros})"
                if fine[name].tz
                else f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ'1970-01-01 00:00:00')"
            )
            columns.append(f"{moment} AS {column}")
        else:
            columns.append(column)
    return frame.selectExpr(*columns)
