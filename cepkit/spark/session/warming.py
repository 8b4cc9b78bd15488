"""Starts Python workers before they are needed: what forks them imports for seconds first.

The profile's jobs run inside the JVM, so workers can start at the same time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepkit.spark.session.access import is_connect
from cepkit.spark.session.local import DAEMON

_WARM: WeakSet[SparkSession] = WeakSet()


def warm_workers(frame: DataFrame) -> None:
    """Start a worker of a DataFrame's session in the background, unless this was done before.

    Only where cepkit's own daemon forks the workers: the bare ones import for each first task.
    """
    session = frame.sparkSession
    if is_connect(session) or session in _WARM:
        return
    _WARM.add(session)
    conf = session.sparkContext.getConf()
    if conf.get("spark.python.daemon.module") == DAEMON:
        threading.Thread(target=_run_one, args=(session,), daemon=True).start()


def _run_one(session: SparkSession) -> None:
    # An error here occurs again, and is raised, where the workers are needed.
    with suppress(Exception):
        session.range(1, numPartitions=1).mapInArrow(_same, "id long").collect()


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches
