"""Texts that are too deep, too long or no Unicode are refused; long patterns take linear time."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import CepkitError, PatternError, PatternSyntaxError, StreamError

TABLE = pd.DataFrame({"i": range(3), "price": [1.0, 2.0, 3.0], "name": list("abc")})


def run(defined="TRUE", pattern="A", measures="COUNT(*) AS n"):
    return ck.from_match_recognize(
        f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES {measures}
        PATTERN ({pattern}) DEFINE A AS {defined})""",
        TABLE,
    ).to_arrow()


@pytest.mark.parametrize(
    "condition",
    [
        "PREV(" * 1000 + "price" + ")" * 1000,
        "ABS(" * 1000 + "price" + ")" * 1000 + " > 1",
        "NOT " * 1000 + "TRUE",
        "price > " + "- " * 1000 + "1",
        "price > " + "1 + " * 1000 + "1",
        "CASE WHEN price > 1 THEN " * 1000 + "1" + " END" * 1000 + " = 1",
        "CAST(" * 1000 + "price" + " AS DOUBLE)" * 1000 + " > 1",
        "price IN (" * 1000 + "1" + ")" * 1000,
    ],
    ids=lambda text: text[:12],
)
@pytest.mark.parametrize("clause", ["defined", "measures"])
def test_expression_nested_too_deeply_is_refused_with_its_place(condition, clause):
    with pytest.raises(PatternError, match="nested more than 100 levels deep") as error:
        run(**{clause: condition})
    assert error.value.span is not None


@pytest.mark.parametrize(
    "pattern",
    ["(" * 1000 + "A B" + ")?" * 1000, "PERMUTE(" * 1000 + "A" + ")" * 1000, "{- " * 1000 + "A"
     + " -}" * 1000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_pattern_nested_too_deeply_is_refused(pattern):
    with pytest.raises(PatternError, match="nested more than 100 levels deep"):
        run(pattern=pattern)


@pytest.mark.parametrize(
    "condition",
    [
        " OR ".join(["price = 2"] * 3000),
        " AND ".join(["price > 0"] * 3000),
        f"i IN ({', '.join(map(str, range(3000)))})",
        f"i NOT IN ({', '.join(map(str, range(5, 3000)))})",
        " OR ".join(f"COUNT(*) = {n}" for n in range(300)),
        "(" * 5000 + "price > 0" + ")" * 5000,
    ],
    ids=lambda text: text[:12],
)
def test_long_chain_of_conditions_is_not_deep(condition):
    assert run(condition).num_rows in (1, 3)


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        ("defined", "name = '\ud800'"),
        ("defined", 'name = "\udfff"'),
        ("measures", 'COUNT(*) AS "\ud800"'),
        ("pattern", "A \ud800"),
        ("pattern", "A /* \ud800 */"),
    ],
    ids=["text", "name", "alias", "variable", "comment"],
)
def test_half_a_character_is_refused_with_its_place(clause, text):
    with pytest.raises(PatternSyntaxError, match="the character U\\+D") as error:
        run(**{clause: text})
    str(error.value).encode()


@pytest.mark.parametrize(
    "table",
    [
        [{"i": 1, "name": "\ud800"}],
        [{"i": 1, "\ud800": 1}],
        # As objects: the texts of pandas 3 cannot have them.
        pd.DataFrame({"i": [1], "name": ["\ud800"]}, dtype=object),
        pd.DataFrame([[1, 1]], columns=pd.Index(["i", "\ud800"], dtype=object)),
    ],
    ids=["value", "name", "value of a frame", "name of a frame"],
)
def test_half_a_character_in_a_table_is_refused(table):
    with pytest.raises(StreamError, match="cannot be read") as error:
        ck.from_match_recognize("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A))", table)
    str(error.value).encode()


def test_half_a_character_in_a_pattern_leaves_the_error_printable():
    with pytest.raises(CepkitError) as error:
        ck.parse("PATTERN SEQ(A \ud800)")
    str(error.value).encode()


@pytest.mark.parametrize(
    "clauses",
    [
        lambda n: f"PATTERN ({'A ' * n})",
        lambda n: f"PATTERN ({' '.join(f'V{k}' for k in range(n))})",
        lambda n: f"PATTERN ({' | '.join(['A'] * n)})",
        lambda n: (
            f"""PATTERN ({" ".join(f"V{k}" for k in range(n))})
            DEFINE {", ".join(f"V{k} AS i > 0" for k in range(n // 2))}"""
        ),
        lambda n: (
            f"""PATTERN ({" ".join(f"V{k}" for k in range(n))})
            SUBSET U = ({", ".join(f"V{k}" for k in range(n))})
            DEFINE V0 AS SUM(U.i) > 0"""
        ),
    ],
    ids=["one variable", "variables", "alternatives", "definitions", "subset"],
)
def test_work_of_a_long_pattern_grows_with_its_length(clauses):
    def calls(terms):
        """Calls of functions, in Python and in C: a measure of work that is the same everywhere."""
        count = 0

        def profiler(frame, event, argument):
            nonlocal count
            count += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(profiler)
        try:
            ck.from_match_recognize(
                f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i {clauses(terms)})", TABLE
            ).to_arrow()
        finally:
            sys.setprofile(before)
        return count

    calls(10)
    assert calls(1200) < 5 * calls(300)
