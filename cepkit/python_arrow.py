"""Tables of Python values under PyArrow's names, for a place without PyArrow, as a browser.

`cepkit.lazy` takes them there. They hold the rows of a small stream, made of dictionaries, and of
its matches; files, frames and Arrow's functions are not among them. Each column is one list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cepkit.python_types import ArrowException as ArrowException
from cepkit.python_types import ArrowInvalid as ArrowInvalid
from cepkit.python_types import ArrowNotImplementedError as ArrowNotImplementedError
from cepkit.python_types import DataType as DataType
from cepkit.python_types import Field as Field
from cepkit.python_types import conversion, converted, stored_number, type_of
from cepkit.python_types import list_ as list_
from cepkit.python_types import struct as struct
from cepkit.python_types import types as types

_BYTES = 64
"""The assumed bytes of a value."""


class Schema(tuple[Field, ...]):
    """The columns of a table."""

    __slots__ = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [each.name for each in self]

    def field(self, which: int | str) -> Field:
        """Return the column of a name or at a place."""
        return self[which if isinstance(which, int) else self.names.index(which)]


class _Whole:
    """A column of one part."""

    __slots__ = ()

    num_chunks = 1
    offset = 0

    @property
    def chunks(self) -> tuple[Self]:
        """The only part."""
        return (self,)

    def chunk(self, _: int) -> Self:
        """Return the only part."""
        return self

    def combine_chunks(self) -> Self:
        """Return the column."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Array(_Whole):
    """A column: the values of one type, None for those that are missing."""

    type: DataType
    values: list[Any]

    @staticmethod
    def from_buffers(kind: DataType, _: int, buffers: Sequence[Any]) -> Array:
        """Return the column of a NumPy array."""
        return Array(kind, buffers[1].tolist())

    @property
    def null_count(self) -> int:
        """The number of missing values."""
        return sum(value is None for value in self.values)

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return _BYTES * len(self.values)

    def buffers(self) -> tuple[None, npt.NDArray[Any]]:
        """Return the values in NumPy, zero for missing ones."""
        stored = [0 if value is None else stored_number(value) for value in self.values]
        return None, np.array(stored, self.type.to_pandas_dtype())

    def to_pylist(self) -> list[Any]:
        """Return the values."""
        return list(self.values)

    def to_numpy(self) -> npt.NDArray[Any]:
        """Return the values, of which none is missing, in NumPy."""
        return self.buffers()[1]

    def is_null(self) -> Array:
        """Return for each value whether it is missing."""
        return Array(DataType("bool_"), [value is None for value in self.values])

    def take(self, at: Array) -> Array:
        """Return the values at some places, none where the place is missing."""
        return Array(self.type, [None if i is None else self.values[i] for i in at.values])

    def filter(self, mask: Array) -> Array:
        """Return the values where `mask` is true."""
        return Array(self.type, list(compress(self.values, mask.values)))

    def slice(self, begin: int = 0, length: int | None = None) -> Array:
        """Return some values."""
        return Array(self.type, self.values[begin : None if length is None else begin + length])

    def cast(self, kind: DataType) -> Array:
        """Return the values in another type.

        Raises:
            ArrowInvalid: A value does not have the type.
        """
        if kind == self.type:
            return self
        convert = conversion(self.type, kind)
        return Array(kind, [None if value is None else convert(value) for value in self.values])

    def dictionary_encode(self) -> DictionaryArray:
        """Return the values as codes of those that differ."""
        codes: dict[Any, int] = {}
        places = [None if v is None else codes.setdefault(v, len(codes)) for v in self.values]
        return DictionaryArray(Array(DataType("int32"), places), Array(self.type, list(codes)))

    def flatten(self) -> Any:
        """Return the items of all lists, or a column for each field of a struct."""
        if self.type.name == "list_":
            items = chain.from_iterable(value for value in self.values if value is not None)
            return Array(self.type.value_type, list(items))
        return [
            Array(f.type, [None if row is None else row.get(f.name) for row in self.values])
            for f in self.type
        ]

    def __getitem__(self, some: Any) -> Array:
        return Array(self.type, self.values[some])

    def __len__(self) -> int:
        return len(self.values)


ChunkedArray = Array


@dataclass(frozen=True, slots=True)
class DictionaryArray(_Whole):
    """Values as codes of those that differ."""

    indices: Array
    dictionary: Array

    @staticmethod
    def from_arrays(indices: Array, dictionary: Array) -> Array:
        """Return the values of codes."""
        return dictionary.take(indices)


class StructArray:
    """Columns as one of dictionaries."""

    @staticmethod
    def from_arrays(arrays: Sequence[Array], fields: Sequence[Field]) -> Array:
        """Return the column."""
        names = [each.name for each in fields]
        rows = zip(*(each.values for each in arrays), strict=True)
        return Array(struct(fields), [dict(zip(names, row, strict=True)) for row in rows])


class ListArray:
    """A column of lists."""

    @staticmethod
    def from_arrays(starts: Array, values: Array, type: DataType) -> Array:  # noqa: A002
        """Return lists that begin at some places."""
        ends = zip(starts.values, starts.values[1:], strict=False)
        return Array(type, [values.values[begin:end] for begin, end in ends])


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one length."""

    schema: Schema
    columns: tuple[Array, ...]

    @staticmethod
    def from_arrays(arrays: Iterable[Array], schema: Schema) -> Table:
        """Return a table of columns."""
        return Table(schema, tuple(arrays))

    @staticmethod
    def from_batches(batches: Sequence[Table], schema: Schema | None = None) -> Table:
        """Return the rows of tables, one after the other."""
        columns = batches[0].schema if schema is None else schema
        parts = (
            chain.from_iterable(table.columns[place].values for table in batches)
            for place in range(len(columns))
        )
        arrays = (Array(f.type, list(part)) for f, part in zip(columns, parts, strict=True))
        return Table(columns, tuple(arrays))

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self.schema.names

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return sum(each.nbytes for each in self.columns)

    def column(self, which: int | str) -> Array:
        """Return the column of a name or at a place."""
        return self.columns[which if isinstance(which, int) else self.column_names.index(which)]

    def select(self, names: Iterable[str]) -> Table:
        """Return some columns."""
        return table({name: self.column(name) for name in names})

    def slice(self, begin: int = 0, length: int | None = None) -> Table:
        """Return some rows."""
        return Table(self.schema, tuple(each.slice(begin, length) for each in self.columns))

    def take(self, at: Array) -> Table:
        """Return the rows at some places."""
        return Table(self.schema, tuple(each.take(at) for each in self.columns))

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return StructArray.from_arrays(self.columns, self.schema).values

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0


RecordBatch = Table


def __getattr__(name: str) -> Callable[..., DataType]:
    """Return a function that makes a type: `int64()`, `timestamp("us", "UTC")`."""
    if name.startswith("_"):
        raise AttributeError(name)
    return partial(DataType, name.removeprefix("large_"))


field, schema, py_buffer = Field, Schema, np.asarray


def table(columns: Any, of: Schema | None = None) -> Table:
    """Return a table of columns by name, or of those of a schema."""
    if of is None:
        fields = [Field(name, column.type) for name, column in columns.items()]
        return Table(Schema(fields), tuple(columns.values()))
    return Table(of, tuple(columns))


def nulls(size: int, kind: DataType) -> Array:
    """Return missing values."""
    return Array(kind, [None] * size)


def chunked_array(chunks: Sequence[Array], kind: DataType | None = None) -> Array:
    """Return the values of columns, one after the other."""
    return Array(kind or chunks[0].type, [value for each in chunks for value in each.values])


def array(values: Any, kind: DataType | None = None, mask: Any = None) -> Array:
    """Return a column of values.

    Raises:
        ArrowInvalid: They are of several types.
    """
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if mask is not None:
        plain = [None if missing else value for value, missing in zip(plain, mask, strict=True)]
    own = type_of(plain)
    column = Array(own, [None if value is None else converted(value, own) for value in plain])
    return column if kind is None else column.cast(kind)
