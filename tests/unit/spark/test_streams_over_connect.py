"""Streams over Spark Connect are refused by name, before anything is asked of a server."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

import cepkit as ck
from cepkit.errors import UnsupportedError

TEXT = "PATTERN SEQ(A a, B b) WITHIN 1 s"


class DataFrame:
    """Stands for the one of Spark Connect, which needs a server; all else that is asked fails."""

    columns = ("ts", "type")
    isStreaming = True  # noqa: N815 - Spark's name
    schema = t.StructType().add("ts", t.TimestampType()).add("type", t.StringType())
    dtypes = (("ts", "timestamp"), ("type", "string"))


DataFrame.__module__ = "pyspark.sql.connect.dataframe"


@pytest.mark.parametrize(
    "ask",
    [
        lambda stream: ck.detect(stream, TEXT),
        lambda stream: ck.detect(stream, [TEXT, TEXT]),
        lambda stream: ck.detect(
            stream, TEXT, spark=ck.SparkOptions(timeouts=True, late="collect")
        ),
        lambda stream: ck.aggregate(stream, f"{TEXT} AGG COUNT"),
    ],
)
def test_streams_over_connect_are_refused_with_the_reason(ask):
    stream = ck.events(DataFrame(), time="ts", type="type", lateness="1 second")
    with pytest.raises(UnsupportedError, match="Spark Connect") as error:
        ask(stream)
    assert "watermark" in error.value.found
    assert error.value.hint == "run it in a classic session"
