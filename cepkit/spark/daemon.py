"""The process that forks Spark's Python workers, without the traceback of a reader that left.

`show()` and `limit()` take what they need and hang up; a worker that was still writing then meets
a broken pipe, and pyspark's daemon prints a traceback of it among the user's output. That is no
news. Sessions that cepkit starts name this module as `spark.python.daemon.module`.
"""

from __future__ import annotations

from typing import Any

from pyspark import daemon


def main() -> None:
    """Run pyspark's daemon; a worker whose reader has left ends quietly."""
    work = daemon.worker

    def worker(sock: Any, authenticated: Any) -> Any:
        try:
            return work(sock, authenticated)
        except BrokenPipeError:
            return 1

    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    main()
