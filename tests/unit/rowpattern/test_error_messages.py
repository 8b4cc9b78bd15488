"""Queries that are refused and the whole messages they get, in tests/golden/row_pattern_errors.txt.

After a change that is meant: CEPKIT_UPDATE_GOLDEN=1 pytest tests/unit/rowpattern, then read
the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import CepkitError

GOLDEN = Path(__file__).parents[2] / "golden" / "row_pattern_errors.txt"
TABLE = pd.DataFrame(
    {
        "ts": pd.date_range("2024-03-04", periods=4, freq="s"),
        "id": [1, 2, 3, 4],
        "price": [5.0, 4.0, 3.0, 6.0],
        "name": list("abca"),
        "gap": [1.0, None, 2.0, 3.0],
        "open": [True, False, True, True],
    }
)
_CASE = re.compile(
    r"^=== (?P<name>.+)\n(?P<text>(?:.*\n)*?)---\n(?P<message>(?:.*\n)*?)(?=\n===|\Z)", re.M
)


def cases() -> dict[str, tuple[str, str]]:
    return {
        case["name"]: (case["text"].removesuffix("\n"), case["message"].removesuffix("\n"))
        for case in _CASE.finditer(GOLDEN.read_text("utf-8"))
    }


def message(text: str) -> str:
    """Return the message for a query over TABLE; other texts go into MATCH_RECOGNIZE brackets."""
    if text.startswith(("PATTERN", "MEASURES", "ORDER", "ALL", "AFTER", "PARTITION")):
        text = f"SELECT * FROM t\nMATCH_RECOGNIZE ({text})"
    with pytest.raises(CepkitError) as caught:
        ck.from_match_recognize(text, TABLE).to_arrow()
    shown = f"{type(caught.value).__name__}: {caught.value}"
    return "\n".join(line.rstrip() for line in shown.splitlines())


if os.environ.get("CEPKIT_UPDATE_GOLDEN"):
    blocks = (f"=== {n}\n{text}\n---\n{message(text)}\n" for n, (text, _) in cases().items())
    GOLDEN.write_text("\n".join(blocks), "utf-8")


@pytest.mark.parametrize("name", cases())
def test_a_query_that_is_refused_gets_the_message_that_was_agreed_on(name: str) -> None:
    text, expected = cases()[name]
    assert message(text) == expected


def test_no_case_is_lost_in_reading_the_file() -> None:
    assert len(cases()) == len(re.findall(r"^=== ", GOLDEN.read_text("utf-8"), re.M)) >= 40
