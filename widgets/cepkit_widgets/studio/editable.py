"""A page in which a pattern may be changed: its events, and what a browser makes of them.

The page has no Python of its own: ``evaluator.js`` beside it, of the site that `make lite` builds,
calls `answer` under Pyodide. The answer is the page that a studio shares.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.resources import files

import numpy as np
import pyarrow as pa

import cepkit as ck
from cepkit.errors import CepkitError
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream
from cepkit_widgets.studio.sharing import MOST_EVENTS, check_redacted, first_shared, shared_page


def editable_page(
    sample: Stream, query: Query, match: tuple[int, ...], plan: Plan | None, redact: Sequence[str]
) -> str:
    """Return the page, of what `shared_page` takes: all columns but those of `redact`.

    Raises:
        StreamError: As of `shared_page`, or the pattern reads a column that is left out.
    """
    check_redacted(sample, redact)
    begin = first_shared(sample, match)
    part = _part(sample, begin, redact)
    chosen = tuple(event - begin for event in match)
    given = {
        "pattern": str(query),
        "events": _packed(part),
        "page": shared_page(part, query, chosen, plan, ()),
    }
    text = files("cepkit_widgets.studio").joinpath("editable.html").read_text(encoding="utf-8")
    # No text of the data can end the script.
    return text.replace("GIVEN", json.dumps(given).replace("<", "\\u003c"), 1)


def answer(events: str, pattern: str) -> str:
    """Return as JSON the page of a pattern over the events of a page, or what is wrong with it."""
    try:
        found = {"page": shared_page(_unpacked(events), ck.parse(pattern), (), None, ())}
    except CepkitError as error:
        found = {"error": str(error)}
    return json.dumps(found)


def _part(sample: Stream, begin: int, redact: Sequence[str]) -> Stream:
    columns = sample.columns(())
    rows = columns.source_rows(np.arange(begin, min(begin + MOST_EVENTS, len(columns))))
    table = columns.source.take(rows)
    names = tuple(name for name in table.column_names if name not in redact)
    schema = replace(sample.schema, columns=None)
    return Stream(table.select(names).replace_schema_metadata(None), schema, names)


def _packed(stream: Stream) -> str:
    table, sink = stream.source, pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    rows = b64encode(sink.getvalue()).decode("ascii")
    return json.dumps({"schema": asdict(stream.schema), "rows": rows})


def _unpacked(events: str) -> Stream:
    given = json.loads(events)
    table = pa.ipc.open_stream(b64decode(given["rows"])).read_all()
    return Stream(table, Schema(**given["schema"]), tuple(table.column_names))
