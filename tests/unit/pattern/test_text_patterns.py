"""LIKE, ILIKE and MATCHES give what Python's regular expressions do, one by one and for many."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.pattern.evaluation.functions import FUNCTIONS

TEXTS = st.text("aA%_\\\n.é[(^$b ", max_size=5)


def like(text: str, pattern: str, flags: int = 0) -> bool:
    words = {"%": ".*", "_": "."}
    regex = "".join(words.get(c) or re.escape(c) for c in pattern)
    return re.fullmatch(regex, text, re.DOTALL | flags) is not None


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_like_is_the_definition_for_one_and_for_many(pairs: list[tuple[str, str]]) -> None:
    for name, flags in (("like", 0), ("ilike", re.IGNORECASE)):
        form = FUNCTIONS[name].form
        expected = [like(text, pattern, flags) for text, pattern in pairs]
        assert [form.scalar(*pair) for pair in pairs] == expected
        assert list(form.many(pairs)) == expected


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("a.n LIKE '%a'", ["alpha", "beta", "Gamma"]),
        ("a.n NOT LIKE 'a%'", ["beta", "Gamma"]),
        ("NOT a.n LIKE 'a%'", ["beta", "Gamma"]),
        ("a.n ILIKE 'g_mm_'", ["Gamma"]),
        ("a.n NOT ILIKE '%A'", []),
        ("a.n MATCHES '^[ab]'", ["alpha", "beta"]),
        ("a.n MATCHES 'et'", ["beta"]),
        ("a.n NOT MATCHES 'a$' OR a.n IS NULL", [None]),
        ("a.n LIKE NULL", []),
        ("lower(a.n) LIKE 'g%' AND a.n = 'Gamma'", ["Gamma"]),
        ("a.n MATCHES a.n", ["alpha", "beta", "Gamma"]),
    ],
)
def test_condition_holds_for_these_texts(condition: str, names: list[str | None]) -> None:
    frame = pd.DataFrame({"ts": range(4), "type": "A", "n": ["alpha", "beta", None, "Gamma"]})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    query = ck.parse(f"PATTERN SEQ(A a) WHERE {condition}")
    assert ck.parse(str(query)) == query
    column = ck.detect(stream, query).to_pandas()["a.n"]
    assert [None if pd.isna(name) else name for name in column] == names


def test_invalid_regex_is_an_error_at_its_place() -> None:
    with pytest.raises(PatternError, match="not valid") as error:
        ck.parse("PATTERN SEQ(A a) WHERE a.n MATCHES '(a'")
    assert error.value.span is not None
    with pytest.raises(PatternError, match="look around"):
        ck.parse(r"PATTERN SEQ(A a) WHERE a.n MATCHES '(a)\1'")


def test_invalid_regex_of_a_column_gives_a_missing_result() -> None:
    assert FUNCTIONS["matches"].form.scalar("a", "(") is None


def test_regex_takes_no_exponential_time() -> None:
    assert FUNCTIONS["matches"].form.scalar("a" * 5_000 + "!", "^(a+)+$") is False
