"""The rows of several queries as one table that merges common columns.

Spark takes a single schema from its workers. Columns with the same name and type become one; it is
null for queries that lack it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

QUERY = "q"
"""The column of the query's number. The others are named c0, c1, ..."""


@dataclass(frozen=True, slots=True)
class OneTable:
    """The columns of several queries.

    Attributes:
        schema: All of them.
        of: Those of each query, by its number and with its own names.
        places: For each query where they are in `schema`.
    """

    schema: pa.Schema
    of: Mapping[int, pa.Schema]
    places: Mapping[int, tuple[int, ...]]

    def widened(self, query: int, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        """Widen rows of a query to all columns."""
        size = len(columns[0])
        known = dict(zip(self.places[query], columns, strict=True))
        known[0] = pa.array(np.full(size, query, np.int32))
        every = enumerate(self.schema)
        widened = [known[i] if i in known else pa.nulls(size, one.type) for i, one in every]
        return pa.RecordBatch.from_arrays(widened, schema=self.schema)

    def parted(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Split rows of all queries into the rows of each, with its own columns."""
        numbers = batch.column(0)
        return [
            (
                query,
                pa.RecordBatch.from_arrays(
                    [batch.column(place).filter(pc.equal(numbers, query)) for place in places],
                    schema=self.of[query],
                ),
            )
            for query, places in self.places.items()
            if pc.any(pc.equal(numbers, query)).as_py()
        ]


def one_table(
    of: Mapping[int, tuple[pa.Schema, Sequence[t.StructField]]],
) -> tuple[OneTable, t.StructType]:
    """Return the columns of several queries as those of one table, in Arrow and in Spark."""
    known: dict[tuple[str, str], int] = {}
    arrow = [pa.field(QUERY, pa.int32())]
    spark = [t.StructField(QUERY, t.IntegerType())]
    places = {}
    for query, (schema, fields) in of.items():
        at = []
        for column, field in zip(schema, fields, strict=True):
            place = known.setdefault((column.name, str(column.type)), len(arrow))
            if place == len(arrow):
                arrow.append(pa.field(f"c{place - 1}", column.type))
                spark.append(t.StructField(f"c{place - 1}", field.dataType))
            at.append(place)
        places[query] = tuple(at)
    schemas = {query: schema for query, (schema, _) in of.items()}
    return OneTable(pa.schema(arrow), schemas, places), t.StructType(spark)
