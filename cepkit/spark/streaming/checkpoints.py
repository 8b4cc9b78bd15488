"""Checkpoints and the folders beside them: whether both are of the same run, and can be read.

Spark's file sink skips micro-batches whose numbers are in the log of its folder, and says nothing:
a query with a new checkpoint would begin again at 0, and its rows would be lost.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from cepkit.errors import StreamError
from cepkit.printing import cut
from cepkit.spark.session.failures import error_of

_WIDTH = 300
_NEW = "a new checkpoint and a new folder"
_FILES = ("parquet", "csv", "json", "orc", "text", "avro", "xml")
_LOCATION = "spark.sql.streaming.checkpointLocation"


class Writer(DataStreamWriter):
    """Spark's writer of a streaming DataFrame, which refuses a folder that is of another run."""

    def __init__(self, rows: Any) -> None:
        super().__init__(rows)
        self._known: dict[str, Any] = {}

    def option(self, key: str, value: Any) -> Writer:
        """Set an option."""
        self._known[key.lower()] = value
        super().option(key, value)
        return self

    def options(self, **options: Any) -> Writer:
        """Set options."""
        self._known.update({key.lower(): value for key, value in options.items()})
        super().options(**options)
        return self

    def format(self, source: str) -> Writer:
        """Set the format of the rows."""
        self._known["format"] = source
        super().format(source)
        return self

    def queryName(self, queryName: str) -> Writer:  # noqa: N802, N803 - Spark's names
        """Set the name of the query."""
        self._known["queryname"] = queryName
        super().queryName(queryName)
        return self

    def start(self, path: str | None = None, *args: Any, **options: Any) -> StreamingQuery:
        """Start the query.

        Raises:
            StreamError: The folder has the log of a run that is not the checkpoint's.
        """
        self._check(path, args, options)
        return super().start(path, *args, **options)

    def toTable(self, tableName: str, *args: Any, **options: Any) -> StreamingQuery:  # noqa: N802, N803
        """Start the query, and write into a table.

        Raises:
            StreamError: As for `start`.
        """
        folder = None
        if self._spark.catalog.tableExists(tableName):
            about = self._spark.sql(f"DESCRIBE TABLE EXTENDED {tableName}").collect()
            folder = next((row[1] for row in about if row[0] == "Location"), None)
        self._check(folder, args, options)
        return super().toTable(tableName, *args, **options)

    def _check(self, folder: str | None, args: Sequence[Any], options: dict[str, Any]) -> None:
        known = {**self._known, **{key.lower(): value for key, value in options.items()}}
        folder = known.get("path") if folder is None else folder
        if folder is None:
            return
        conf = self._spark.conf
        base, name = conf.get(_LOCATION, None), known.get("queryname")
        usual = f"{base}/{name}" if base is not None and name is not None else None
        kind = args[0] if args else known.get("format", conf.get("spark.sql.sources.default"))
        check_same_run(
            self._spark, folder, known.get("checkpointlocation", usual), logged=kind in _FILES
        )


def check_same_run(
    session: SparkSession, folder: str, checkpoint: str | None, *, logged: bool
) -> None:
    """Check that the log of a folder is of the run that a checkpoint belongs to.

    Args:
        folder: The folder that rows are written into.
        checkpoint: The folder of the checkpoint; None: a new one.
        logged: Whether Spark keeps a log of the micro-batches in such a folder.

    Raises:
        StreamError: The log is of another run, so rows would be lost or Spark would fail later.
    """
    written = _latest(session, f"{folder}/_spark_metadata")
    begun = done = -1
    if checkpoint is not None:
        begun, done = (_latest(session, f"{checkpoint}/{log}") for log in ("offsets", "commits"))
    if written > begun:
        found = f"has rows of another run, up to its micro-batch {written}"
    elif logged and written < done:
        found = f"{f'ends with micro-batch {written}' if written >= 0 else 'has no log'}"
    else:
        return
    last = max(begun, done)
    of_checkpoint = f"ends with {last}" if last >= 0 else "has none"
    raise StreamError(
        f"the folder '{folder}' {found}; the checkpoint '{checkpoint or 'a new one'}'"
        f" {of_checkpoint}",
        expected="the folder and the checkpoint of the same run",
        hint=f"{_NEW}: Spark leaves out what the folder's log has already, and needs all of that"
        " log",
    )


def _latest(session: SparkSession, folder: str) -> int:
    """Return the highest number among the files of one of Spark's logs; -1 if there is none."""
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - it reads all that Spark can
    path = java.org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001
    if not files.exists(path):
        return -1
    names = (str(file.getPath().getName()) for file in files.listStatus(path))
    numbers = (name.removesuffix(".compact") for name in names)
    return max((int(number) for number in numbers if number.isdecimal()), default=-1)


_FULL = re.compile("No space left on device|Disk quota exceeded")
_UNREADABLE = re.compile(
    "CANNOT_LOAD_STATE_STORE|STATE_STORE_\\w*SCHEMA|MISSING_METADATA_FILE|MISSING_STATE_DIRECTORY|STDS_"
    r"|BATCH_METADATA_NOT_FOUND|HDFSMetadataLog\.getExistingBatch|CompactibleFileStreamLog"
    r"|StreamMetadata\$?\.read|OperatorStateMetadata"
)
"""What Spark's reports say where it cannot read the files of a checkpoint."""
_REASON = re.compile(r"terminated with exception: (.*)|^: (?:[\w.$]+: )?(.*)", re.MULTILINE)


@contextlib.contextmanager
def readable(checkpoint: str) -> Iterator[None]:
    """Raise an error of ours where Spark cannot read or write a checkpoint.

    Raises:
        StreamError: It cannot.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        report = f"{error}\n{getattr(error, '_stackTrace', '')}"
        ours = error_of(report)
        if ours is not None:
            raise ours from None
        if _FULL.search(report):
            raise StreamError(
                f"the disk is full: the checkpoint '{checkpoint}', or its folder",
                hint="make room, and start the query again: it continues where it was",
            ) from None
        if not _UNREADABLE.search(report):
            raise
        reason = _REASON.search(report)
        message = next(filter(None, reason.groups())) if reason else report.splitlines()[0]
        raise StreamError(
            f"the checkpoint '{checkpoint}' cannot be read: {cut(message, _WIDTH)}",
            expected="all of its files, as the same versions of Spark and cepkit wrote them",
            hint=f"restore it from a copy, or begin again with {_NEW}",
        ) from None
