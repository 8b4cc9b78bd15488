"""The translation of a query with MATCH_RECOGNIZE finds the query's matches."""

from __future__ import annotations

import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import UnsupportedError

CONDITIONS = st.sampled_from(
    [
        "v < 3",
        "v IS NOT NULL",
        "v = 1 OR v > 2",
        "NOT (v = 2 OR v > 3)",
        "v - a.v * 2 < 1",
        "v BETWEEN 1 AND 3",
        "LAST(a.v) <= v",
        "FIRST(b.v) >= v - 1",
        "(v + 1) * 2 > v - (1 - v)",
        "a.v IN (0, 2, 4)",
    ]
)
TABLES = st.lists(
    st.tuples(st.sampled_from(["u", "w", None]), st.none() | st.integers(0, 4)), max_size=12
)
SKIPS = st.sampled_from(["PAST LAST ROW", "TO NEXT ROW", "TO LAST b", "TO FIRST b"])


@given(
    pattern=st.sampled_from(
        [
            *(
                "a b",
                "a b c",
                "a b{2}",
                "(a b){2}",
                "a a b",
                "a (b a)",
                "a{2} b",
                "a b?",
                "a (b c?)",
            ),
            *(
                "a b{1,2}",
                "a c b?",
                "a a?",
                "a{1,2}",
                "a+",
                "a{2,}",
                "a{1,3}",
                "a b*",
                "a c b+",
                "a b{0,2}",
                "a b{2,}",
                "a a*",
                "a b*?",
                "a b??",
            ),
        ]
    ),
    defined=st.tuples(CONDITIONS, CONDITIONS),
    table=TABLES,
    skip=SKIPS,
    partitioned=st.booleans(),
    within=st.sampled_from(["", "", " WITHIN INTERVAL '2' SECOND"]),
    type_=st.sampled_from(["X", "a", "A", "B"]),
)
def test_translated_pattern_finds_the_matches_of_its_query(
    pattern, defined, table, skip, partitioned, within, type_
):
    first = defined[0] if "b." not in defined[0] else "v >= 0"
    definitions = [f"a AS {first}", *([f"b AS {defined[1]}"] if "b" in pattern else [])]
    assume("b" in pattern or "b" not in skip)
    sql = f"""SELECT * FROM t MATCH_RECOGNIZE ({"PARTITION BY k" if partitioned else ""} ORDER BY i
        MEASURES FIRST(i) AS first_i, LAST(i) AS last_i AFTER MATCH SKIP {skip}
        PATTERN ({pattern}){within} DEFINE {", ".join(definitions)})"""
    frame = pd.DataFrame(table, columns=["k", "v"]).astype({"v": "Int64", "k": "object"})
    frame["i"], frame["type"] = pd.to_datetime(range(len(frame)), unit="s"), type_
    if not len(frame):
        return
    result = ck.from_match_recognize(sql, frame)
    stream = ck.events(frame, time="i", type="type")
    try:
        translated = result.as_pattern()
    except UnsupportedError as error:
        assert "may have more rows" in error.found or "reads other rows" in error.found, error
        return
    found = ck.detect(stream, translated).to_pandas()
    rows = result.to_pandas()
    assert sorted(zip(found["match_start"], found["match_end"], strict=True)) == sorted(
        zip(rows["first_i"], rows["last_i"], strict=True)
    )
