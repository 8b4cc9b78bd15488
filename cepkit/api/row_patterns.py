"""The verb for queries in SQL: `from_match_recognize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from cepkit.arguments import typed
from cepkit.progress import Progress
from cepkit.stream.reading.sources import accepted, is_spark
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from cepkit.rowpattern.result import RowMatches
    from cepkit.rowpattern.translation import RowPatternQuery
    from cepkit.spark.row_patterns import SparkRowMatches


@overload
def from_match_recognize(
    sql: str, table: None = None, *, progress: Progress = "auto"
) -> RowPatternQuery: ...


@overload
def from_match_recognize(
    sql: str, table: Any, *, progress: Progress = "auto"
) -> RowMatches | SparkRowMatches: ...


@typed
def from_match_recognize(
    sql: str, table: Any = None, *, progress: Progress = "auto"
) -> RowPatternQuery | RowMatches | SparkRowMatches:
    """Run a query with MATCH_RECOGNIZE over a table.

    It gives what SQL:2016 says: of each start the preferred match, a row for each or all its rows,
    measures (docs/coming-from/match-recognize.md lists the supported parts). Names of columns are
    looked up whatever their case; the name after FROM is not looked up.

    Args:
        sql: ``SELECT ... FROM name MATCH_RECOGNIZE (...)``, with WHERE, ORDER BY and LIMIT.
        table: A pandas or Spark DataFrame, an Arrow table (or what exports one), a list of
            dictionaries, the path of CSV or Parquet files, or a stream of `events`. In Spark
            each partition is matched where it is, so PARTITION BY must be there. None: the
            query is read and not run.
        progress: "auto" for a bar where what is asked of the result takes more than two seconds;
            True, or False.

    Returns:
        The rows of the result, found when they are asked for; without a table the query, whose
        `pattern_text()` is the pattern of cepkit that means the same.

    Raises:
        PatternSyntaxError: The text does not follow the grammar; the message underlines the place.
        PatternError: It does, but means nothing: an unknown column, kinds that do not fit.
        UnsupportedError: The query uses an unsupported part of SQL.
        StreamError: A table that cannot be read.

    Example:
        >>> import cepkit as ck
        >>> prices = [{"day": 1, "price": 9.0}, {"day": 2, "price": 7.0}, {"day": 3, "price": 8.0}]
        >>> query = '''SELECT * FROM prices MATCH_RECOGNIZE (
        ...   ORDER BY day MEASURES LAST(down.price) AS bottom PATTERN (down+ up)
        ...   DEFINE down AS price < PREV(price), up AS price > PREV(price))'''
        >>> ck.from_match_recognize(query, prices).to_pandas()
           bottom
        0     7.0
    """
    from cepkit.rowpattern.parser import parse_row_query

    query = parse_row_query(sql)
    if table is None:
        from cepkit.rowpattern.translation import RowPatternQuery

        return RowPatternQuery(query)
    if isinstance(table, Stream):
        table = table.rows()
    source = accepted(table)
    if is_spark(source):
        from cepkit.spark.row_patterns import SparkRowMatches

        return SparkRowMatches(query, source).with_progress(progress)
    from cepkit.rowpattern.result import RowMatches

    return RowMatches(query, source, progress)
