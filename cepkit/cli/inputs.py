"""What a command line names: a pattern, a stream, statistics."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

import cepkit as ck
from cepkit.cli.spark_files import read_on_spark
from cepkit.cli.terminal import working
from cepkit.errors import CepkitError, StatisticsError, nearest
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream

_LARGEST_TEXT = 1 << 20


def read_pattern(arguments: argparse.Namespace) -> Query:
    """Return the query of `--pattern` or `--pattern-text`."""
    if arguments.pattern_text is not None:
        return ck.parse(arguments.pattern_text)
    if arguments.pattern == "-":
        return ck.parse(_decoded(sys.stdin.buffer.read(_LARGEST_TEXT), "standard input"))
    return ck.parse(_read_text(arguments.pattern, "to give the pattern itself, use --pattern-text"))


def open_stream(arguments: argparse.Namespace) -> Stream:
    """Return the stream of `--events`, in this process or on Spark."""
    keywords = {
        name: getattr(arguments, name) for name in ("time", "type", "unit", "timezone", "arrival")
    }
    if not arguments.spark:
        return ck.events(arguments.events, **keywords)
    if "://" not in arguments.events:
        # The beginning of the file, read here, gives the clear errors before Spark is started.
        ck.events(arguments.events, **keywords)
    return ck.events(read_on_spark(arguments.events), **keywords)


def profiled(stream: Stream, query: Query) -> Statistics:
    """Return the statistics of a stream, measured now, and show that it goes on."""
    # On Spark it shows its own progress.
    with contextlib.nullcontext() if stream.place == "spark" else working("profiling"):
        return ck.profile(stream, query)


def read_statistics(path: str, query: Query) -> Statistics:
    """Return the statistics that `cepkit profile --json` saved.

    Args:
        path: The file.
        query: The pattern that they must be about.
    """
    statistics = ck.Statistics.from_json(_read_text(path))
    missing = [e.variable for e in events_of(query.structure) if e.variable not in statistics.rates]
    if missing:
        raise StatisticsError(
            f"the statistics of '{path}' do not know the variable '{missing[0]}'",
            expected="statistics of the same pattern",
        )
    return statistics


def _read_text(path: str, hint: str | None = None) -> str:
    file = Path(path)
    try:
        with file.open("rb") as opened:
            return _decoded(opened.read(_LARGEST_TEXT), f"'{path}'")
    except FileNotFoundError:
        near = None
        if file.parent.is_dir():
            near = nearest(file.name, (other.name for other in file.parent.iterdir()))
        raise CepkitError(f"there is no file '{path}'", hint=near or hint) from None
    except OSError as error:
        raise CepkitError(f"'{path}' cannot be read: {error.strerror}") from None


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CepkitError(f"{name} is no text in UTF-8") from None
