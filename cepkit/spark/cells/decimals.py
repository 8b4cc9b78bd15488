"""Numbers with another decimal point, as a comma, in columns of texts; one job finds them."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from cepkit.stream.reading.nested import quoted

_NUMBER = r"^[-+]?([0-9]+,?[0-9]*|,[0-9]+)([eE][-+]?[0-9]+)?$"


def texts_for_doubles(schema: StructType) -> StructType:
    """Return a schema with texts in place of numbers that are not whole."""
    return StructType(
        [
            StructField(f.name, StringType() if f.dataType == DoubleType() else f.dataType)
            for f in schema
        ]
    )


def with_numbers(frame: DataFrame, decimal: str) -> DataFrame:
    """Return a frame with numbers in place of texts, where a column has nothing else.

    Args:
        decimal: The decimal point.
    """
    texts = {name: F.col(quoted(name)) for name, kind in frame.dtypes if kind == "string"}
    number = _NUMBER.replace(",", re.escape(decimal))
    checks = [F.bool_and(text.rlike(number)).alias(name) for name, text in texts.items()]
    fits = [*(frame.select(*checks).first() or ())] if checks else []
    points = F.lit(decimal), F.lit(".")
    those = [name for name, only in zip(texts, fits, strict=True) if only]
    numbers = {name: F.replace(texts[name], *points).cast("double") for name in those}
    return frame.withColumns(numbers)
