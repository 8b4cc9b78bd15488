"""The SQL of a pattern, run by DuckDB and Spark SQL, gives the matches of the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, reject

import cepkit as ck
from cepkit.errors import UnsupportedError
from cepkit.pattern.policies import Strategy
from tests.strategies import FEW, Case, as_table, cases

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from tests.judge import Match

CASES = cases(
    ("SEQ", "AND", "OR", "NOT", "OPT", "FIRST", "TOGETHER"),
    max_variables=4,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    windows=("none", "time", "time-exclusive"),
    unsorted=True,
    condition_kinds=(
        "filter", "comparison", "equality", "difference", "three-variables", "or", "not", "in",
        "between", "is-null", "arithmetic", "truth", "constant", "duration", "bound",
    ),
)  # fmt: skip


SEQUENCES = cases(
    ("SEQ",),
    max_variables=4,
    strategies=(Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY),
    windows=("none", "time", "time-exclusive"),
    condition_kinds=("filter", "comparison", "equality", "in", "between", "is-null", "bound"),
)


def table_of(case: Case) -> pa.Table:
    """Return the events as SQL has them: a missing number is null, never NaN."""
    table = as_table(case.events)
    place = table.column_names.index("y")
    y = table["y"].combine_chunks()
    return table.set_column(place, "y", pc.if_else(pc.is_nan(y), pa.scalar(None, y.type), y))


def sql_of(case: Case, dialect: str) -> str:
    """Return the SQL of a case; a case that SQL has no words for is drawn anew."""
    try:
        return case.query.to_sql(dialect, table="events", type="kind", id="id", columns=["id"])
    except UnsupportedError:
        reject()


def matches_of(rows: Iterable[dict[str, int | None]], case: Case) -> set[Match]:
    """Return rows in the judge's form.

    Raises:
        AssertionError: A match occurs twice.
    """
    variables = case.variables
    matches = [
        frozenset((v, row[f"{v}.id"]) for v in variables if row.get(f"{v}.id") is not None)
        for row in rows
    ]
    assert len(matches) == len(set(matches))
    return set(matches)


@given(CASES)
def test_sql_on_duckdb_gives_the_matches_of_the_judge(case: Case) -> None:
    with duckdb.connect() as connection:
        connection.register("events", table_of(case))
        rows = connection.sql(sql_of(case, "duckdb")).arrow().read_all().to_pylist()
    assert matches_of(rows, case) == case.matches


@FEW
@given(CASES)
def test_sql_on_spark_gives_the_matches_of_the_judge(spark: SparkSession, case: Case) -> None:
    text = sql_of(case, "spark")
    frame = spark.createDataFrame(table_of(case).drop_columns(["h", "d"]))
    frame.createOrReplaceTempView("events")
    rows = [row.asDict() for row in spark.sql(text).collect()]
    assert matches_of(rows, case) == case.matches


@given(SEQUENCES)
def test_match_recognize_gives_the_matches_of_the_judge(case: Case) -> None:
    rows = ck.from_match_recognize(sql_of(case, "trino"), table_of(case)).to_arrow().to_pylist()
    assert matches_of(rows, case) == case.matches
