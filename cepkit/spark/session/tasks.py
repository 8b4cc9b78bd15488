"""Common code of tasks: workers load only this."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

Batches: TypeAlias = Iterator[pa.RecordBatch]
Work: TypeAlias = Callable[[Batches], Generator[pa.RecordBatch, None, Any]]
"""The work of a task: it yields rows and returns a report."""


def task_number() -> int:
    """Return the number of the task in this process."""
    task = TaskContext.get()
    assert task is not None
    return task.partitionId()


def pickled(value: Any) -> bytes:
    """Pickle an object, also of a class defined in the user's session."""
    packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return packed
