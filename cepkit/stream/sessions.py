"""The Spark session of a DataFrame: whether it still runs, and its jobs, without loading Spark."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from cepkit.errors import SessionError

Result = TypeVar("Result")


def check_session(frame: Any) -> None:
    """Check that the session of a Spark DataFrame is alive.

    Spark itself would fail with an empty assertion, a missing attribute or, if another session
    runs now, a null pointer in Java.

    Raises:
        SessionError: The session has been stopped.
    """
    session = getattr(frame, "sparkSession", None)
    if session is not None and _is_stopped(session):
        raise SessionError(
            "the Spark session of this DataFrame has been stopped",
            hint="cepkit.get_session() starts another: read the data in it, and make the stream "
            "again with cepkit.events",
        )


def run_job(frame: Any, action: Callable[[], Result], what: str) -> Result:
    """Run an action of a Spark DataFrame where an interrupt ends its jobs.

    Args:
        what: The name of the work, as "fetching".
    """
    # Spark's part of cepkit stands above streams, and is loaded only where there is a DataFrame.
    run: Any = import_module("cepkit.spark.session.progress").run_with_progress
    result: Result = run(action, what, frame=frame)
    return result


def _is_stopped(session: Any) -> bool:
    context = getattr(session, "_sc", None)
    if context is None:  # Spark Connect
        return bool(getattr(session, "is_stopped", False))
    java = context._jsc  # noqa: SLF001 - there is no public way to ask
    return java is None or bool(java.sc().isStopped())
