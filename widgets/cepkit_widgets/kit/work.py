"""Work in a thread of its own that can be stopped."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any


class Work:
    """A function that runs in a thread of its own until it returns or is stopped.

    To be stopped is to be interrupted as by Ctrl-C: what the function calls needs to know of
    nothing else.

    Args:
        function: What is run.
        done: Is called in the same thread at the end, with what the function returned or the
            error that it raised: of one that was stopped a KeyboardInterrupt.
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
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread.ident), ctypes.py_object(KeyboardInterrupt)
                )

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until all is done; return whether it is."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            try:
                result = self._function()
            finally:
                # Whoever stops it later comes too late.
                with self._lock:
                    self._running = False
        except BaseException as reason:  # noqa: BLE001 - it is handed on
            self._running, error = False, reason
        self._done(result, error)
