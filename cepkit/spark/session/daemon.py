"""The process that forks Spark's Python workers, ready to search.

pyspark's own daemon forks bare workers, and each imports pandas, Arrow and cepkit for its first
task, a second or two. Here they are imported before the first fork, so that workers have them. A
fork has none of its parent's threads; those that NumPy and Arrow start are made anew by them in
each child. On other systems than Linux libraries are not as careful, and nothing is imported.

`show()` and `limit()` take what they need and hang up; a worker that was still writing then meets
a broken pipe, and pyspark's daemon prints a traceback of it among the user's output. That is no
news. After each task pyspark collects garbage, which looks at every object of every module
that was ever loaded: some ten milliseconds, more than many a task takes. Here what modules are made
of is set aside once. Sessions that cepkit starts name this module as `spark.python.daemon.module`.
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
    "cepkit.columnar.compile.weak",
    "cepkit.columnar.skip_till_next.detection",
)
"""What workers load sooner or later; the last two only for some patterns."""


def main() -> None:
    """Run pyspark's daemon with workers of ours."""
    warn_once_among_forks()
    if sys.platform == "linux":
        prepare()
    daemon.worker = polite(daemon.worker)  # type: ignore[assignment]  # it has names for arguments
    daemon.manager()


def prepare() -> None:
    """Import what workers need; what cannot be imported here they miss themselves."""
    for name in _MODULES:
        # What is printed would be taken for the daemon's answer to Spark.
        with suppress(Exception), redirect_stdout(sys.stderr):
            import_module(name)
    gc.collect()
    gc.freeze()  # or collections in workers would copy all the pages that they share


def polite(work: Worker) -> Worker:
    """Return a worker that ends quietly when its reader has left, and sets modules aside.

    Args:
        work: Does one task.
    """
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
                gc.collect()  # or what is garbage now would stay for ever
                gc.freeze()

    return worker


if __name__ == "__main__":
    main()
