"""The rows of a streaming query: matches, and late events or timeouts if they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as t

from cepkit.errors import UnsupportedError
from cepkit.spark.streaming.timeouts import AWAITED, WINDOW_END, with_timeout

KIND, EVENT = "kind", "event"
"""The columns with the kind of a row, and with a late event."""


@dataclass(frozen=True, slots=True)
class MatchRows:
    """The columns of matches, late events and timeouts.

    Attributes:
        matches: The columns of matches.
        carried: The columns of an event.
        sent: The columns of an event as it is sent to workers.
        variables: The variables in pattern order.
        late: Whether events that are late, or too far ahead, are rows too.
        timeouts: Whether partial matches that timed out are rows too.
    """

    matches: pa.Schema
    carried: pa.Schema
    sent: pa.Schema
    variables: Sequence[str]
    late: bool
    timeouts: bool

    def check_names(self) -> None:
        """Refuse variables with the name of a column beside the matches.

        Raises:
            UnsupportedError: There is one.
        """
        known = {name.casefold() for name in self.variables}
        for name in self._beside:
            if name in known:
                raise UnsupportedError(
                    f"a variable '{name}' beside the column '{name}' of late events or timeouts",
                    hint="rename the variable",
                )

    @property
    def _beside(self) -> tuple[str, ...]:
        late = (KIND, EVENT) if self.late else ()
        return (*late, *((KIND, AWAITED, WINDOW_END) if self.timeouts else ()))

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        fields = list(self.matches)
        if self.late or self.timeouts:
            fields.insert(0, pa.field(KIND, pa.string()))
        if self.late:
            fields.append(pa.field(EVENT, pa.struct(list(self.carried))))
        return with_timeout(pa.schema(fields)) if self.timeouts else pa.schema(fields)

    def columns(self, matches: t.StructType, event: t.DataType) -> t.StructType:
        """Return all columns for Spark, from those of matches and of an event."""
        fields = list(matches.fields)
        if self.late or self.timeouts:
            fields.insert(0, t.StructField(KIND, t.StringType()))
        if self.late:
            fields.append(t.StructField(EVENT, event))
        if self.timeouts:
            fields.append(t.StructField(AWAITED, t.StringType()))
            fields.append(t.StructField(WINDOW_END, t.TimestampType()))
        return t.StructType(fields)

    def __call__(self, kind: str) -> Callable[[pa.Buffer], pa.RecordBatch] | None:
        """Return the function that reads pieces of a kind; None: they are no rows."""
        if kind == "match":
            return lambda piece: self._with_all_columns(kind, _columns(piece, self.matches))
        if kind == "timed-out":
            schema = with_timeout(self.matches)
            return lambda piece: self._with_all_columns(kind, _columns(piece, schema))
        if kind in ("late", "ahead") and self.late:
            return lambda piece: self._with_all_columns(kind, self._events(piece))
        return None

    def _events(self, piece: pa.Buffer) -> dict[str, pa.Array]:
        batch = pa.ipc.read_record_batch(piece, self.sent)
        arrays = [batch.column(self.sent.get_field_index(name)) for name in self.carried.names]
        return {EVENT: pa.StructArray.from_arrays(arrays, fields=list(self.carried))}

    def _with_all_columns(self, kind: str, known: dict[str, pa.Array]) -> pa.RecordBatch:
        """Return rows with all columns, null where a kind has none."""
        length = len(next(iter(known.values())))
        arrays = []
        for field in self.schema:
            if field.name == KIND and (self.late or self.timeouts):
                arrays.append(pa.array([kind] * length, pa.string()))
            else:
                arrays.append(known.get(field.name, pa.nulls(length, field.type)))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _columns(piece: pa.Buffer, schema: pa.Schema) -> dict[str, pa.Array]:
    batch = pa.ipc.read_record_batch(piece, schema)
    return {field.name: batch.column(i) for i, field in enumerate(schema)}
