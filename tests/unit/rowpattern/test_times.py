"""Parts and differences of times in MATCH_RECOGNIZE, as each database counts them."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import PatternError

ROWS = pd.DataFrame(
    {
        "t": pd.to_datetime(["2024-01-01 10:59:50", "2024-01-01 11:00:10", "2024-01-03 09:00:00"]),
        "x": [1, 2, 3],
    }
)


def measured(expression, define="B AS B.x > A.x AND C.x > B.x"):
    sql = f"""SELECT * FROM d MATCH_RECOGNIZE (ORDER BY t MEASURES {expression} AS v
        PATTERN (A B C) DEFINE {define.replace(" AND C", ", C AS C")})"""
    return ck.from_match_recognize(sql, ROWS).to_pandas()["v"].tolist()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("TIMESTAMPDIFF(HOUR, A.t, B.t)", 0),
        ("TIMESTAMPDIFF(SECOND, A.t, B.t)", 20),
        ("TIMESTAMPDIFF(SECOND, B.t, A.t)", -20),
        ("TIMESTAMPDIFF(DAY, A.t, C.t)", 1),
        ("date_diff('day', A.t, C.t)", 1),
        ("DATEDIFF(hour, A.t, B.t)", 1),
        ("DATEDIFF(DAYS, A.t, C.t)", 2),
        ("DATEDIFF(day, C.t, A.t)", -2),
        ("DATEDIFF(C.t, A.t)", 2),
        ("EXTRACT(HOUR FROM B.t)", 11),
        ("YEAR(A.t) + MONTH(A.t) + DAY(C.t) + MINUTE(A.t)", 2024 + 1 + 3 + 59),
        ("CAST(C.t AS DATE)", pd.Timestamp("2024-01-03")),
    ],
)
def test_value(expression, value):
    assert measured(expression) == [value]


def test_conditions_compare_dates_and_differences():
    define = "B AS CAST(B.t AS DATE) = CAST(A.t AS DATE) AND C.x > DATEDIFF(second, A.t, B.t) - 20"
    assert measured("A.x", define) == [1]


def test_missing_time_has_a_missing_difference():
    rows = ROWS.assign(t2=[None, ROWS["t"][0], None])
    sql = """SELECT * FROM d MATCH_RECOGNIZE (ORDER BY t MEASURES
        DATEDIFF(day, A.t, A.t2) AS v PATTERN (A) DEFINE A AS TRUE)"""
    assert ck.from_match_recognize(sql, rows).to_pandas()["v"].isna().tolist() == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("EXTRACT(DOW FROM A.t)", "EXTRACT of DOW"),
        ("DATEDIFF(week, A.t, B.t)", "DATEDIFF of these arguments"),
        ("date_diff(A.t, B.t)", "DATE_DIFF of these arguments"),
        ("TIMESTAMPDIFF(HOUR, A.x, B.t)", "cannot be computed"),
        ("HOUR(A.x)", "cannot be computed"),
    ],
)
def test_computation_that_differs_between_databases_is_refused(expression, said):
    with pytest.raises(PatternError, match=said):
        measured(expression)


CLOCKS = pd.to_datetime(["2024-03-31 00:30", "2024-03-31 01:30", "2024-03-31 22:30"], utc=True)
"""02:00 in Rome on 31 March 2024 does not exist: these are 01:30, 03:30 and, a day later, 00:30."""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("EXTRACT(HOUR FROM A.t)", 1),
        ("EXTRACT(HOUR FROM B.t)", 3),
        ("DAY(C.t)", 1),
        ("MONTH(C.t)", 4),
        ("TIMESTAMPDIFF(HOUR, A.t, B.t)", 1),
        ("DATEDIFF(DAY, A.t, C.t)", 1),
        ("DATEDIFF(HOUR, A.t, B.t)", 1),
        ("A.t", CLOCKS[0].tz_convert("Europe/Rome")),
    ],
)
def test_times_in_a_zone_are_read_by_its_clock(expression, value):
    rows = pd.DataFrame({"t": CLOCKS.tz_convert("Europe/Rome"), "x": [1, 2, 3]})
    sql = f"""SELECT * FROM d MATCH_RECOGNIZE (ORDER BY t MEASURES {expression} AS v
        PATTERN (A B C) DEFINE B AS B.x > A.x)"""
    assert ck.from_match_recognize(sql, rows).to_pandas()["v"].tolist() == [value]


def test_time_without_a_zone_beside_one_with_a_zone_is_refused():
    rows = pd.DataFrame({"t": CLOCKS.tz_convert("Europe/Rome"), "n": CLOCKS.tz_localize(None)})
    for condition in ("B.t > TIMESTAMP '2024-03-31 01:00:00'", "B.t > A.n", "n - t > t - t"):
        sql = f"""SELECT * FROM d MATCH_RECOGNIZE (ORDER BY t MEASURES B.t AS v
            PATTERN (A B) DEFINE B AS {condition})"""
        with pytest.raises(PatternError, match="without a zone beside one in Europe/Rome"):
            ck.from_match_recognize(sql, rows)
    sql = sql.replace(condition, "B.t > TIMESTAMP '2024-03-31 03:00:00+02:00'")
    assert ck.from_match_recognize(sql, rows).to_pandas()["v"].tolist() == [CLOCKS[1]]
