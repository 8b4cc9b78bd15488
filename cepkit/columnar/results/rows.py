"""Rows that are found when they are asked for, as tables, frames and files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from cepkit.arguments import typed
from cepkit.columnar.results.frames import frame_of, table_of
from cepkit.columnar.results.output import to_parquet
from cepkit.files import PARQUET, check_apart, check_target, whole_file
from cepkit.lazy import pd
from cepkit.memory import Room


class Rows(ABC):
    """Rows of matches, some at a time.

    However many there are, `batches` and `write_parquet` hold some at a time. `to_arrow` and
    `to_pandas` hold them all, and refuse more than fit the memory.
    """

    _file: Path | None
    """The file of the events, which is not to be overwritten."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as record batches, in no particular order."""

    @abstractmethod
    def _room(self, form: str) -> Room:
        """Return the memory that all rows may take as a table."""

    def to_arrow(self) -> pa.Table:
        """Return all matches as an Arrow table.

        Raises:
            LimitError: They would not fit the free memory; by the forecast of the plan or after
                `count()` this is known at once.
        """
        return table_of(self.batches(), self.schema, self._room("an Arrow table"))

    def to_pandas(self) -> pd.DataFrame:
        """Return all matches as a DataFrame; each event is a dictionary of its columns.

        Raises:
            LimitError: They would not fit the free memory, as for `to_arrow`.
        """
        return frame_of(self.batches(), self.schema, self._room("a DataFrame"))

    @typed
    def write_parquet(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Write all matches to a Parquet file, some at a time; it appears when it is whole.

        Args:
            path: The file, whose name ends in .parquet; no link, and not that of the events.
            overwrite: Whether to replace a file that exists; it stays until the new one is whole.

        Returns:
            How many there are.

        Raises:
            FileError: It cannot, or must not, be written.
            LimitError: There are more sets to choose than could be written, and no `limit`.
        """
        target = check_target(path, PARQUET, overwrite=overwrite)
        if self._file is not None:
            check_apart(target, self._file)
        with whole_file(target, overwrite=overwrite) as file:
            return to_parquet(self.batches(), self.schema, file)
