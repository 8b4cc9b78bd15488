"""The process that forks Spark's Python workers, with imports already done.

pyspark's own daemon forks bare workers, and each imports pandas, Arrow and cepkit for its first
task, which takes a second or two. This daemon imports them before the first fork, so that workers
inherit them. A fork has none of its parent's threads; NumPy and Arrow restart theirs in each child.
Libraries are not as careful on other systems than Linux, so nothing is imported there.

`show()` and `limit()` close the connection once they have enough rows; a worker that is still
writing gets a broken pipe, and pyspark's daemon would print a traceback into the user's output.
This daemon suppresses it. After each task pyspark runs a garbage collection, which scans every
object of every loaded module: some ten milliseconds, more than many tasks take. Here module objects
are frozen once. Sessions that cepkit starts set this module as `spark.python.daemon.module`.
"""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from typing import TypeAlias

from pyspark import daemon

from cepkit.caches import warn_once_among_forks

Worker: TypeAlias = Callable[[socket.socket, bool], int]

_MODULES = (
    "pyspark.worker",
    "cepkit.spark.passes.one_pass",
    "cepkit.spark.matches.detect",
    "cepkit.columnar.compile.forest",
    "cepkit.columnar.skip_till_next.detection",
    "pandas",
)
"""Modules that workers load sooner or later; the last three only for some patterns."""


def main() -> None:
    """Run pyspark's daemon with our workers."""
    warn_once_among_forks()
    if sys.platform == "linux":
        prepare()
    daemon.worker = polite(daemon.worker)  # type: ignore[assignment]  # it has names for arguments
    daemon.manager()


def prepare() -> None:
    """Import the modules of workers; import errors will show up in the workers themselves."""
    for name in _MODULES:
        # Spark would take printed text for the daemon's reply.
        with suppress(Exception), redirect_stdout(sys.stderr):
            import_module(name)
    gc.collect()
    gc.freeze()  # otherwise garbage collection in workers would copy all shared pages


def polite(work: Worker) -> Worker:
    """Return a worker that ends quietly when its reader has gone, and freezes module objects."""
    modules = 0

    def worker(sock: socket.socket, authenticated: bool) -> int:
        nonlocal modules
        try:
            return work(sock, authenticated)
        except BrokenPipeError:
            return 1
        finally:
            if len(sys.modules) != modules:
                modules = len(sys.modules)
                gc.collect()  # otherwise present garbage would never be freed
                gc.freeze()

    return worker


if __name__ == "__main__":
    main()
