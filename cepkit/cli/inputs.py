"""What a command line names: a pattern, a stream, statistics."""

from __future__ import annotations

import argparse
import contextlib
import sys

import cepkit as ck
from cepkit.cli.spark_files import read_on_spark
from cepkit.cli.terminal import working
from cepkit.errors import CepkitError, StatisticsError, telling
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.statistics.model import Statistics
from cepkit.statistics.saved import LARGEST_FILE
from cepkit.stream.paths import decoded, path_of, read_text
from cepkit.stream.stream import Stream

# Some bytes for each of the characters that a pattern may have.
_LARGEST_PATTERN = 400_000


def read_pattern(arguments: argparse.Namespace) -> Query:
    """Return the query of `--pattern` or `--pattern-text`."""
    if arguments.pattern_text is not None:
        return ck.parse(arguments.pattern_text)
    if arguments.pattern == "-":
        content = sys.stdin.buffer.read(_LARGEST_PATTERN + 1)
        return ck.parse(decoded(content, _LARGEST_PATTERN, "standard input"))
    try:
        text = read_text(path_of(arguments.pattern), _LARGEST_PATTERN, waits=True)
    except CepkitError as error:
        error.hint = error.hint or "to give the pattern itself, use --pattern-text"
        raise
    return ck.parse(text)


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
    saved = ck.Statistics.from_json(read_text(path_of(path), LARGEST_FILE, waits=True))
    with telling(f"the statistics of '{path}'"):
        statistics = saved.of(query)
    missing = [e.variable for e in events_of(query.structure) if e.variable not in statistics.rates]
    if missing:
        raise StatisticsError(
            f"the statistics of '{path}' do not know the variable '{missing[0]}'",
            expected="statistics of the same pattern",
        )
    return statistics
