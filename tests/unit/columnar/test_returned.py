"""RETURN: the columns that matches have, in every form of the result."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.pattern.builder import event, kl, max_, seq, var

TEXT = """
PATTERN SEQ(A a, KL(B b), C c)
RETURN a.price AS first, max(b.price) AS top, c.ts - a.ts AS took
"""
TABLE = pd.DataFrame(
    {
        "ts": pd.to_datetime([0, 1, 2, 3], unit="s"),
        "kind": list("ABBC"),
        "price": [1, 5, 3, 4],
        "name": list("pqrs"),
    }
)
STREAM = ck.events(TABLE, time="ts", type="kind")
COLUMNS = ["first", "top", "took", "match_start", "match_end"]


def test_matches_have_the_columns_that_are_asked_for():
    matches = ck.detect(STREAM, TEXT, sets="maximal")
    assert matches.to_arrow().column_names == COLUMNS == list(matches.head())
    assert matches.to_arrow().to_pylist()[0]["took"] == pd.Timedelta("3s")
    assert [str(kind) for kind in matches.schema.types[:3]] == ["int64", "int64", "duration[us]"]
    (row,) = matches
    assert (row["first"], row["top"]) == (1, 5)
    for shown in (repr(matches), matches._repr_html_()):
        assert "top" in shown
        assert "all 1" in shown


def test_a_timeline_still_has_whole_events():
    tidy = ck.detect(STREAM, TEXT, sets="maximal").timeline()
    assert list(tidy["variable"]) == ["a", "b", "b", "c"]
    assert tidy["attributes"][0] == {"price": 1, "name": "p"}


def test_a_file_has_the_columns(tmp_path):
    ck.detect(STREAM, TEXT).write_parquet(tmp_path / "m.parquet")
    assert list(pd.read_parquet(tmp_path / "m.parquet")) == COLUMNS


def test_builder_makes_return():
    a, b, c = var("a"), var("b"), var("c")
    built = seq(event("a", "A"), kl(event("b", "B")), event("c", "C")).returns(
        first=a.price, top=max_(b.price), took=c.ts - a.ts
    )
    assert built.query == ck.parse(TEXT)
    assert seq(event("a", "A")).returns("a.price, a.name AS n").query == ck.parse(
        "PATTERN SEQ(A a) RETURN a.price, a.name AS n"
    )


def test_several_patterns_have_their_columns_side_by_side():
    found = ck.detect(STREAM, {"x": TEXT, "y": "PATTERN SEQ(B b, C c) RETURN c.price AS first"})
    together = found.together.to_pandas()
    assert list(together) == ["pattern", *COLUMNS]
    assert sorted(together["first"]) == [1, 1, 1, 4, 4]
    assert found.together.to_arrow().column("top").null_count == 2


def test_columns_of_one_name_and_two_types_are_no_table():
    found = ck.detect(STREAM, [TEXT, "PATTERN SEQ(B b, C c) RETURN c.name AS first"])
    with pytest.raises(PatternError, match="'first' has the type int64 in one pattern and"):
        _ = found.together
    found = ck.detect(STREAM, [TEXT, 'PATTERN SEQ(B b, C c) RETURN c.name AS "pattern"'])
    with pytest.raises(PatternError, match="RETURN has a column 'pattern'"):
        _ = found.together


def test_return_refuses_columns_that_the_stream_leaves_out():
    stream = ck.events(TABLE, time="ts", type="kind", columns=["name"])
    with pytest.raises(PatternError, match="'price', which columns= leaves out"):
        ck.detect(stream, "PATTERN SEQ(A a, C c) RETURN c.price")
    found = ck.detect(stream, "PATTERN SEQ(A a, C c) RETURN c.price + 1 AS more, a.name")
    assert found.to_pandas()["more"].tolist() == [5]
    with pytest.raises(PatternError, match="no column 'pice'"):
        ck.detect(stream, "PATTERN SEQ(A a, C c) RETURN c.pice")
