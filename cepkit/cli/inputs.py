"""The inputs on a command line: patterns, events, statistics."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import zlib
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import cepkit as ck
from cepkit.cli.options import CSV_OPTIONS
from cepkit.cli.spark_files import read_on_spark
from cepkit.cli.terminal import quiet_streams, working
from cepkit.errors import CepkitError, PatternError, StatisticsError, StreamError, telling
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.pattern.several import queries_of
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.planners import PLANNERS
from cepkit.statistics.model import Statistics
from cepkit.statistics.saved import LARGEST_FILE
from cepkit.stream.paths import decoded, path_of, read_text, shown
from cepkit.stream.reading import readers
from cepkit.stream.reading.json_lines import is_json
from cepkit.stream.reading.written import FILETIME
from cepkit.stream.stream import Stream

# A few bytes for each character that a pattern may have.
_LARGEST_PATTERN = 400_000


_STDIN = "standard input"
_BEGINNING = 4_096
_ENDING = ".cep"
"""The ending of pattern files in a folder."""


def read_pattern(arguments: argparse.Namespace) -> Query:
    """Return the query of `--pattern` or `--pattern-text`."""
    if arguments.pattern_text is not None:
        return ck.parse(arguments.pattern_text)
    return read_pattern_file(arguments.pattern)


def read_patterns(arguments: argparse.Namespace) -> Query | dict[str, Query]:
    """Return the query of `--pattern` or `--pattern-text`; several by name.

    Raises:
        PatternError: One is not a pattern (the message says which), or two files have the same
            name.
    """
    texts, paths = arguments.pattern_text, arguments.pattern
    if texts is not None:
        return queries_of(texts, ck.parse) if len(texts) > 1 else ck.parse(texts[0])
    if len(paths) == 1 and not _is_folder(paths[0]):
        return read_pattern_file(paths[0])
    return {name: read_pattern_file(path) for name, path in pattern_files(arguments).items()}


def pattern_files(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the paths of `--pattern` by the names of their patterns, including those in folders.

    Raises:
        PatternError: Two files have the same name.
    """
    files: dict[str, str] = {}
    for path in chain.from_iterable(map(_files_at, arguments.pattern)):
        name = _STDIN if path == "-" else Path(path).stem
        if name in files:
            raise PatternError(
                f"two patterns are called '{name}': '{files[name]}' and '{path}'",
                hint="the name of a pattern is that of its file: rename one",
            )
        files[name] = path
    return files


def read_pattern_file(path: str) -> Query:
    """Return the query of a file, or of standard input; errors name the file."""
    if path == "-":
        content = sys.stdin.buffer.read(_LARGEST_PATTERN + 1)
        text = decoded(content, _LARGEST_PATTERN, _STDIN)
    else:
        try:
            text = read_text(path_of(path), _LARGEST_PATTERN, waits=True)
        except CepkitError as error:
            error.hint = error.hint or "to give the pattern itself, use --pattern-text"
            raise
    with telling(f"the pattern of {_STDIN if path == '-' else path}"):
        return ck.parse(text)


def _is_folder(path: str) -> bool:
    return path != "-" and path_of(path).is_dir()


def _files_at(path: str) -> list[str]:
    """Return the path of a pattern, or of all patterns in a folder, by name."""
    if not _is_folder(path):
        return [path]
    files = sorted(each for each in path_of(path).iterdir() if each.suffix == _ENDING)
    if not files:
        raise PatternError(f"no pattern in the folder '{path}'", expected=f"{_ENDING} files")
    return [str(each) for each in files]


def open_stream(arguments: argparse.Namespace) -> Stream:
    """Return the stream of `--events`, in this process or on Spark."""
    written = _written(arguments)
    given = ["--time-format"] if written["time_format"] else []
    if not isinstance(arguments.time, str):
        given.append("--time with two columns")
    if arguments.spark and given:
        raise StreamError(f"{given[0]} with --spark", hint="leave --spark out")
    names = ("time", "type", "unit", "timezone", "arrival")
    keywords = written | {name: getattr(arguments, name) for name in names}
    for name in ("since", "until"):
        keywords[name] = _time(getattr(arguments, name), arguments.unit)
    keywords["ties"] = arguments.ties or "none"
    if arguments.events == "-":
        return _stream_of_stdin(arguments, keywords)
    if not arguments.spark:
        return ck.events(arguments.events, **keywords)
    csv = [keywords.pop(name) for name in ("sep", "encoding", "decimal")]
    whole = any(csv) or is_json(arguments.events) or readers.json_files(Path(arguments.events))
    if "://" not in arguments.events and arguments.unit != FILETIME and not whole:
        # Read the beginning of the file here: clear errors before Spark starts.
        ck.events(arguments.events, **keywords)
    return ck.events(read_on_spark(arguments.events, *csv), **keywords)


def _time(text: str | None, unit: str | None) -> str | float | None:
    """Return an end of a time range: a number if times are numbers and it is one."""
    if text is None or unit in (None, FILETIME):
        return text
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    return text


def _written(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that say how a file is written."""
    names = [name.replace("-", "_") for name in CSV_OPTIONS]
    written = {name: getattr(arguments, name) for name in names}
    if written["sep"] in ("tab", r"\t"):
        written["sep"] = "\t"
    return written


def _stream_of_stdin(arguments: argparse.Namespace, keywords: dict[str, Any]) -> Stream:
    """Return the rows from standard input, which can be read only once, as a stream."""
    if arguments.spark:
        raise StreamError("Spark cannot read standard input", hint="write it to a file first")
    if getattr(arguments, "pattern", None) == "-" or "-" in (arguments.pattern or ()):
        raise StreamError("standard input holds the pattern or the events, not both")
    with TemporaryDirectory(prefix="cepkit-") as folder:
        beginning = sys.stdin.buffer.read(_BEGINNING)
        path = Path(folder, f"{_STDIN}{_format_of(beginning)}")
        with path.open("wb") as file:
            file.write(beginning)
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            stream = ck.events(path, **keywords)
            # Of a table, as the file goes.
            rows = stream.source if isinstance(stream.source, pa.Table) else None
            if rows is None:
                rows = readers.read_table(path, readers.column_names(path))
        except StreamError as error:
            error.found = error.found.replace(shown(path), _STDIN)
            raise
        return Stream(rows, stream.schema, stream.column_names)


def _format_of(beginning: bytes) -> str:
    """Return the suffix of a file that begins so."""
    if beginning.startswith(b"PAR1"):
        return ".parquet"
    zipped = beginning.startswith(b"\x1f\x8b")
    if zipped:
        with contextlib.suppress(zlib.error):  # which reading it says
            beginning = zlib.decompressobj(31).decompress(beginning)
    is_json = beginning.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"["))
    return (".json" if is_json else ".csv") + (".gz" if zipped else "")


def profiled(stream: Stream, query: Query | dict[str, Query]) -> Statistics:
    """Measure a stream, showing progress."""
    # On Spark it shows its own progress.
    with contextlib.nullcontext() if stream.place == "spark" else working("profiling"):
        return ck.profile(stream, query)


def saved_statistics(path: str) -> Statistics:
    """Return statistics that `cepkit profile --json` saved, for any pattern."""
    return ck.Statistics.from_json(read_text(path_of(path), LARGEST_FILE, waits=True))


def read_statistics(path: str, query: Query) -> Statistics:
    """Return the statistics that `cepkit profile --json` saved."""
    saved = saved_statistics(path)
    with telling(f"the statistics of '{path}'"):
        statistics = saved.of(query)
    missing = [e.variable for e in events_of(query.structure) if e.variable not in statistics.rates]
    if missing:
        raise StatisticsError(
            f"the statistics of '{path}' do not know the variable '{missing[0]}'",
            expected="statistics of the same pattern",
        )
    return statistics


def plan_of(arguments: argparse.Namespace, query: Query, stream: Stream) -> Plan | None:
    """Return the plan of the command line; None to leave it to detection."""
    if arguments.plan:
        return order_of(arguments, query)
    planner = arguments.planner
    if planner:
        PLANNERS.pick(planner)  # refuse a wrong name before minutes of profiling
    if arguments.statistics:
        statistics = read_statistics(arguments.statistics, query)
    elif planner:
        # Detection gives the same warnings, and knows all types.
        with quiet_streams():
            statistics = profiled(stream, query)
    else:
        return None
    if planner:
        return ck.choose_plan(query, statistics, planner)
    return ck.compare_plans(query, statistics).best


def order_of(arguments: argparse.Namespace, query: Query) -> Plan | None:
    """Return the plan of --plan, or None."""
    if not arguments.plan:
        return None
    return as_plan([name.strip() for name in arguments.plan.split(",")], query)
