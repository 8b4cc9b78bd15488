"""The verb `check`: tests whether patterns are valid and can run over events."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import cepkit as ck
from cepkit.cli.inputs import open_stream, pattern_files, read_pattern_file
from cepkit.cli.options import json_option, pattern_options, stream_options
from cepkit.cli.output import check_targets, write_json
from cepkit.cli.terminal import error_text, note, say
from cepkit.errors import CepkitError, PatternError, PlacedError
from cepkit.pattern.kinds import check_no_type_is_a_kind, kinds_of
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_absent
from cepkit.tables import count_text


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Check patterns without running them. With --events, "
        "--time and --type also check that the columns and types they name exist."
    )
    pattern_options(command, several=True)
    stream_options(command, required=False)
    output = command.add_argument_group("output")
    json_option(output, "each pattern, or its error and where it is,")


def run(arguments: argparse.Namespace) -> None:
    """Print each valid pattern, and the errors of all others."""
    roles = [name for name in ("events", "time") if getattr(arguments, name) is None]
    if roles and (len(roles) < 2 or arguments.type is not None):
        arguments.refuse(f"--{roles[0]} is missing: --events and --time go together")
    check_targets(arguments)
    texts = arguments.pattern_text
    read: Callable[[str], Query] = ck.parse if texts else read_pattern_file
    patterns = _numbered(texts) if texts else pattern_files(arguments)
    stream = open_stream(arguments) if not roles else None
    types = _types(stream) if stream is not None and stream.place == "local" else None
    wrong = 0
    entries: list[dict[str, Any]] = []
    for name, source in patterns.items():
        try:
            query = read(source)
            _check(query, stream, types)
        except CepkitError as error:
            wrong += 1
            note(error_text(error, name, vars(arguments)))
            entries.append({"name": name, "pattern": None, "error": _as_data(error)})
        else:
            entries.append({"name": name, "pattern": str(query), "error": None})
            if arguments.json != "-":
                say(f"{name}: {query}")
    if arguments.json:
        write_json(arguments, {"patterns": entries})
    if wrong:
        raise PatternError(f"{wrong} of {count_text(len(patterns), 'pattern')} cannot be run")


def _numbered(texts: list[str]) -> dict[str, str]:
    return {f"pattern {number}": text for number, text in enumerate(texts, start=1)}


def _as_data(error: CepkitError) -> dict[str, Any]:
    """Return an error as data with its place; lines and columns count from 1."""
    span = error.span if isinstance(error, PlacedError) else None
    return {
        "found": error.found,
        "expected": error.expected,
        "hint": error.hint,
        "line": None if span is None else span.line,
        "column": None if span is None else span.column,
        "length": None if span is None else span.end - span.start,
    }


def _types(stream: Stream) -> tuple[str, ...]:
    return stream.columns(()).type_names


def _check(query: Query, stream: Stream | None, types: tuple[str, ...] | None) -> None:
    if stream is None:
        return
    query.check_detectable(stream)
    if types is not None:
        named = {name for event in events_of(query.structure) for name in event.types or ()}
        check_no_type_is_a_kind(kinds_of(query.written), types)
        warn_of_absent(sorted(named.difference(types)), types, query)
