"""Work in a thread that can be stopped."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

_COMPILING = 0.2
"""Seconds until a stop while loops are compiled is tried again."""
_AGAIN = 3.0
"""Seconds until a stop without effect is repeated: enough to cancel the jobs of Spark."""


class Work:
    """A function that runs in a thread of its own until it returns or is stopped.

    Stopping interrupts it as Ctrl-C does, so the code that it calls needs no special support.

    Args:
        function: The function to run.
        done: Called in the same thread at the end, with the function's result or its error; after a
            stop the error is a KeyboardInterrupt.
    """

    def __init__(
        self, function: Callable[[], Any], done: Callable[[Any, BaseException | None], None]
    ) -> None:
        self._function, self._done = function, done
        self._lock = threading.Lock()
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the function has not returned yet."""
        return self._running

    def stop(self) -> None:
        """Interrupt the function, if it still runs."""
        with self._lock:
            if self._running and self._thread.ident is not None:
                # The compiler's lock would stay locked, and whoever needs it next would hang.
                if _is_compiling(self._thread.ident):
                    self._stop_later(_COMPILING)
                    return
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread.ident), ctypes.py_object(KeyboardInterrupt)
                )
                # Python drops what is raised in a destructor: then once more.
                self._stop_later(_AGAIN)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; return whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _stop_later(self, seconds: float) -> None:
        again = threading.Timer(seconds, self.stop)
        again.daemon = True
        again.start()

    def _run(self) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            try:
                result = self._function()
            finally:
                # From here on a stop has no effect.
                with self._lock:
                    self._running = False
        except BaseException as reason:  # noqa: BLE001 - it is handed on
            self._running, error = False, reason
        self._done(result, error)


def _is_compiling(thread: int) -> bool:
    """Return whether a thread is in the compiler of loops."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - there is no other way
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("numba", "llvmlite"):
            return True
        frame = frame.f_back
    return False
