"""The check that the Spark session of a DataFrame still runs, without loading Spark."""

from __future__ import annotations

from typing import Any

from cepkit.errors import SessionError


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


def _is_stopped(session: Any) -> bool:
    context = getattr(session, "_sc", None)
    if context is None:  # Spark Connect
        return bool(getattr(session, "is_stopped", False))
    java = context._jsc  # noqa: SLF001 - there is no public way to ask
    return java is None or bool(java.sc().isStopped())
