"""Rows found on demand, as tables, frames and files."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from cepkit.arguments import check_range, typed
from cepkit.columnar.results.flat import flat_batch, flat_schema
from cepkit.columnar.results.frames import frame_of, records, table_of
from cepkit.columnar.results.output import to_parquet
from cepkit.errors import LimitError, UnsupportedError, shown
from cepkit.exports import Exported
from cepkit.files import PARQUET, check_apart, check_target, whole_file
from cepkit.lazy import pa, pd
from cepkit.memory import Room, free_memory
from cepkit.progress import WithProgress
from cepkit.tables import whole

_AT_ONCE = 1_000
"""The batch size for iterating over matches as dictionaries."""
_FEW = 10_000
"""A list of so few matches takes less than results grow between two looks at the free memory."""
_ROW, _EVENT = 200, 250
"""The least bytes of a match, and of an event in it, as dictionaries."""


class Rows(WithProgress, Exported, ABC):
    """Rows of matches, in batches.

    Arrow (`batches`, `to_arrow`, `write_parquet`) has a struct `a` for each variable, a list of
    structs for a set. DataFrames (`to_pandas`, `head`) are flat: a column `a.price` for each
    attribute. `nested=` asks each of them for the other form.

    `batches`, `write_parquet` and iteration hold only some at a time. `to_arrow` and `to_pandas`
    hold all of them and refuse more than fit the memory.
    """

    _file: Path | None
    """The file of the events, which must not be overwritten."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the rows: a struct for each variable."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of matches, exactly, without building their rows."""

    @abstractmethod
    def _batches(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows as record batches, at most `most` rows."""

    @abstractmethod
    def _room(self, form: str, most: int | None = None) -> Room:
        """Return the memory that all rows, or `most` of them, may take as a table."""

    @abstractmethod
    def may_lack(self) -> frozenset[str]:
        """Return the flat columns in which values may be missing."""

    @typed
    def batches(self, *, nested: bool = True) -> Iterator[pa.RecordBatch]:
        """Return an iterator over the matches as record batches, in no particular order.

        Args:
            nested: Whether there is a struct for each variable, or a column for each attribute.

        Raises:
            LimitError: There are more sets to choose than could be written, and no `limit`.
        """
        batches = self._batches()
        return batches if nested else map(flat_batch, batches)

    @typed
    def to_arrow(self, *, nested: bool = True) -> pa.Table:
        """Return all matches as an Arrow table.

        Args:
            nested: Whether there is a struct for each variable, or a column for each attribute.

        Raises:
            LimitError: They would not fit the free memory; with a forecast of the plan or after
                `count()` this is known at once.
        """
        schema = self.schema if nested else flat_schema(self.schema)
        with self._working("finding matches"):
            return table_of(self.batches(nested=nested), schema, self._room("an Arrow table"))

    @typed
    def to_pandas(self, *, nested: bool = False) -> pd.DataFrame:
        """Return all matches as a DataFrame with columns `a.price`, `match_start` and `match_end`.

        A variable with a dot or a double quote in its name is quoted, as in `"a.b".price`. A set
        has a list in each of its columns. A variable that the match does not have, of another
        branch of an OR, has missing values; what must be absent has no columns.

        Columns of floats, times and durations are NumPy's, and so are those of integers and truth
        values where none can be missing; dictionaries are categories. All else is Arrow's
        (`pd.ArrowDtype`), as NumPy would lose something: integers beside missing values would be
        floats, texts and lists Python objects, which take 10 to 200 ns each to make, where Arrow
        takes 0.4 to 4 (measured on 400,000). The types of columns follow from the stream and the
        pattern, not from which matches there are. A missing float is NaN.

        Args:
            nested: Whether there is one column for each variable instead, of dictionaries, of lists
                of them for a set; this takes thirty times as long and ten times as much memory.

        Raises:
            LimitError: They would not fit the free memory, as for `to_arrow`.
        """
        return self._frame(None, nested=nested)

    @typed
    def head(self, n: int = 5, *, nested: bool = False) -> pd.DataFrame:
        """Return the first `n` matches found, in the form of `to_pandas`.

        Args:
            n: The most matches.
            nested: Whether there is one column of dictionaries for each variable.

        Raises:
            LimitError: They would not fit the free memory.
        """
        check_range("n", n, 0)
        return self._frame(n, nested=nested)

    def first(self, n: int) -> pa.Table:
        """Return the first `n` matches found as an Arrow table with a struct for each variable."""
        with self._working("finding matches"):
            return table_of(self._batches(n), self.schema, self._room("an Arrow table", n))

    def _in_batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        return self.schema, self.batches()

    def _flat(self) -> pa.Table:
        return self.to_arrow(nested=False)

    def _frame(self, most: int | None, *, nested: bool) -> pd.DataFrame:
        room = self._room("a DataFrame", most)
        with self._working("finding matches"):
            return frame_of(
                self._batches(most), self.schema, room, nested=nested, may_lack=self.may_lack()
            )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the matches as rows of `to_pandas(nested=True)`, found in batches."""
        for batch in self._batches():
            for begin in range(0, len(batch), _AT_ONCE):
                yield from records(pa.Table.from_batches([batch.slice(begin, _AT_ONCE)]))

    def __len__(self) -> int:
        """Return `count()`, if so many rows could be in memory: `list` makes room for them first.

        Raises:
            LimitError: A list of them would need more than is free.
        """
        number = self.count()
        if number <= _FEW:
            return number
        size = number * (_ROW + _EVENT * len(self.schema))
        if number > sys.maxsize or size > free_memory():
            raise LimitError(
                f"{whole(number)} matches, too many for a list",
                hint=".count() gives their number, .head(10) the first ones;"
                " a loop over the matches finds them one after the other",
            )
        return number

    def __bool__(self) -> bool:
        """Return whether there is any match."""
        return any(len(batch) for batch in self._batches(1))

    def __getitem__(self, key: object) -> NoReturn:
        raise UnsupportedError(
            f"matches[{shown(key)}]: matches are found when they are asked for, in no order",
            hint="to_pandas() gives them as a DataFrame, head(10) the first ones;"
            " a loop over the matches finds them one after the other",
        )

    @typed
    def write_parquet(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, nested: bool = True
    ) -> int:
        """Write all matches to a Parquet file in batches; the file appears when it is complete.

        Args:
            path: The file, whose name ends in .parquet; neither a link nor the file of the events.
            overwrite: Whether to replace a file that exists; it stays until the new one is whole.
            nested: Whether there is a struct for each variable, or a column for each attribute.

        Returns:
            The number of matches.

        Raises:
            FileError: The file exists already, or cannot be written.
            LimitError: There are more sets to choose than could be written, and no `limit`.
        """
        target = check_target(path, PARQUET, overwrite=overwrite)
        if self._file is not None:
            check_apart(target, self._file)
        with whole_file(target, overwrite=overwrite) as file:
            schema = self.schema if nested else flat_schema(self.schema)
            with self._working("writing matches"):
                return to_parquet(self.batches(nested=nested), schema, file)
