"""A checkpoint says to which query it belongs, and refuses others with both descriptions."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from cepkit.errors import StreamError
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.several import ALONE
from cepkit.plan.checks import as_plan
from cepkit.spark.streaming.prepare import dealt_out, identity_of, prepare
from cepkit.spark.streaming.state import FORMAT, Identity
from cepkit.stream.schema import Schema
from tests.cells import stream_of

MINE = Identity({"pattern": "PATTERN A a WITHIN 1 s", "lateness": "1 second"})


def test_check_accepts_the_same_identity():
    MINE.check(Identity(dict(MINE.parts)).text)


def test_error_for_another_query_shows_only_the_differing_parts():
    other = Identity({"pattern": "PATTERN B b WITHIN 1 s", "lateness": "1 second"})
    with pytest.raises(StreamError) as error:
        MINE.check(other.text)
    assert "pattern PATTERN B b WITHIN 1 s" in error.value.found
    assert error.value.expected == "pattern PATTERN A a WITHIN 1 s"
    assert "lateness" not in str(error.value)


def test_an_older_format_is_refused():
    older = json.dumps({**json.loads(MINE.text), "format": "0"})
    with pytest.raises(StreamError, match="format 0"):
        MINE.check(older)
    assert json.loads(MINE.text)["format"] == str(FORMAT)


@pytest.mark.parametrize("change", ["columns", "slices"])
def test_a_schema_or_slices_that_changed_are_another_query(change):
    mine = _identity()
    other = _identity(pa.int64()) if change == "columns" else _identity(slice_seconds=5)
    with pytest.raises(StreamError, match=f"another query: .*{change}") as error:
        mine.check(other.text)
    expected = "price double" if change == "columns" else "slices unknown"
    assert expected in str(error.value.expected)


def _identity(price=pa.float64(), slice_seconds=None):  # noqa: B008 - a type is a constant
    columns = [("ts", pa.timestamp("us", "UTC")), ("kind", pa.string()), ("price", price)]
    stream = stream_of(pa.schema(columns).empty_table(), Schema("ts", "kind"))
    query = parse("PATTERN SEQ(A a, B b) WITHIN 1 s")
    prepared = prepare(stream, {ALONE: query}, [as_plan(None, query)])
    bucket, count = dealt_out(prepared, None, slice_seconds)
    return identity_of(stream, {ALONE: query}, bucket, count)
