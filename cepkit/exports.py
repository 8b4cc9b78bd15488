"""Rows that other tools take over: polars, DuckDB, and all that read Arrow's streams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cepkit.arguments import typed
from cepkit.errors import CepkitError, FileError, UnsupportedError
from cepkit.lazy import pa

if TYPE_CHECKING:
    import polars as pl

_VIEW = "rows of cepkit"


class Exported:
    """Rows for other tools.

    What reads Arrow's streams (`polars.DataFrame`, `pyarrow.table`) takes the rows themselves, in
    the form of `to_arrow()`.
    """

    @abstractmethod
    def _in_batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the columns and the rows in the form of `to_arrow`, some at a time."""

    @abstractmethod
    def _flat(self) -> pa.Table:
        """Return the rows in the form of `to_pandas`."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a stream of Arrow's C interface, found as they are read."""
        reader = pa.RecordBatchReader.from_batches(*self._in_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a frame of polars, with the columns of `to_pandas`.

        Raises:
            UnsupportedError: Polars is not installed.
            LimitError: They would not fit the free memory.
        """
        try:
            polars: Any = import_module("polars")
        except ImportError as error:
            raise UnsupportedError(
                "to_polars() without polars", hint="pip install polars, or to_arrow()"
            ) from error
        frame: pl.DataFrame = polars.from_arrow(self._flat())
        return frame

    @typed
    def to_duckdb(self, connection: Any, name: str, *, overwrite: bool = False) -> int:
        """Write all rows to a table of DuckDB, some at a time, with the columns of `to_arrow`.

        Of matches these are structs: `SELECT a.price FROM found`.

        Args:
            connection: Of DuckDB, from `duckdb.connect`.
            name: The table.
            overwrite: Whether to replace a table that exists.

        Returns:
            The number of rows.

        Raises:
            FileError: The table exists already.
            UnsupportedError: DuckDB cannot write it.
        """
        failures: list[CepkitError] = []
        schema, batches = self._in_batches()
        rows = pa.RecordBatchReader.from_batches(schema, _watched(batches, failures))
        table = '"' + name.replace('"', '""') + '"'
        create = "CREATE OR REPLACE TABLE" if overwrite else "CREATE TABLE"
        duckdb: Any = import_module("duckdb")
        connection.register(_VIEW, rows)
        try:
            done = connection.execute(f'{create} {table} AS FROM "{_VIEW}"')
            return int(done.fetchone()[0])
        except duckdb.CatalogException as error:
            raise FileError(
                f"the table '{name}' exists already", hint="overwrite=True replaces it"
            ) from error
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            wrong = failures or [UnsupportedError(f"DuckDB cannot write '{name}': {reason}")]
            raise wrong[0] from error
        finally:
            connection.unregister(_VIEW)


def _watched(
    batches: Iterator[pa.RecordBatch], failures: list[CepkitError]
) -> Iterator[pa.RecordBatch]:
    """Yield batches, and keep an error, because other tools replace it by one of theirs."""
    try:
        yield from batches
    except CepkitError as error:
        failures.append(error)
        raise
