"""What tasks do wherever they run: workers load no more than this."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

Batches: TypeAlias = Iterator[pa.RecordBatch]
Work: TypeAlias = Callable[[Batches], Generator[pa.RecordBatch, None, Any]]
"""What a task does: it yields rows, and returns a report."""


def task_number() -> int:
    """Return the number of the task that this process runs."""
    task = TaskContext.get()
    assert task is not None
    return task.partitionId()


def pickled(value: Any) -> bytes:
    """Return an object as bytes, also one of a class that only the user knows."""
    packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return packed
