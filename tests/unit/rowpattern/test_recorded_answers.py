"""Drawn queries give the answers of ZetaSQL (tests/golden/row_pattern_answers.json)."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

import cepkit as ck

CASES = json.loads(
    (Path(__file__).parents[2] / "golden" / "row_pattern_answers.json").read_text("utf-8")
)


def test_another_database_gives_the_same_answers():
    assert len(CASES) == 120
    for case in CASES:
        defined = ", ".join(f"{name} AS {text}" for name, text in case["define"].items())
        table = pd.DataFrame(case["rows"], columns=["k", "v"]).astype({"v": "Int64"})
        table["id"] = range(len(table))
        sql = f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY id
            MEASURES MATCH_NUMBER() AS number, ARRAY_AGG(id) AS ids
            AFTER MATCH SKIP {case["skip"]} PATTERN ({case["pattern"]}) DEFINE {defined})"""
        rows = ck.from_match_recognize(sql, table).to_arrow().to_pylist()
        found = [list(row.values()) for row in rows]
        assert sorted(found, key=str) == sorted(case["answer"], key=str), case
