"""Progress bars of Spark jobs, with cancellation on Ctrl-C.

The action runs in another thread under a job group; this thread polls the group's tasks a few times
a second. Interrupting an action only in Python would leave its tasks running: here the group is
cancelled, which takes a fraction of a second, and the session stays usable. This thread receives
interrupts and so never talks to Java: an interrupt in the middle of a call would leave a reply on
the connection that the next call would take for its own.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from cepkit.progress import SILENT_SECONDS, Progress, Work, is_shown, showing
from cepkit.spark.session.failures import plain_errors
from cepkit.stream.sessions import check_session

if TYPE_CHECKING:
    from pyspark.core.context import SparkContext
    from pyspark.sql import DataFrame

Result = TypeVar("Result")
_LOOK_SECONDS = 0.2
_STOP_SECONDS = 30.0

_watched = threading.local()
"""Whether this thread runs a watched action; nested actions then share its bar."""


def run_with_progress(
    action: Callable[[], Result],
    description: str = "",
    *,
    progress: Progress = "auto",
    group: str | None = None,
    frame: DataFrame | None = None,
    stop: Callable[[], object] | None = None,
) -> Result:
    """Run an action on Spark with a progress bar; return its result.

    All that starts jobs goes through here, because here an interrupt ends them.

    Args:
        action: Starts Spark jobs: `lambda: matches.write.parquet(path)`.
        description: The text of the bar.
        progress: True for a bar; "auto" for one in a terminal or a notebook, and only when the
            action takes more than two seconds; False for none (the user may still interrupt).
        group: The job group, for `tasks_of`; None for a new one.
        stop: Ends at an interrupt what jobs of the group are not: a streaming query. It may be
            called several times, also before there is anything to end.

    Raises:
        SessionError: The session of `frame` has been stopped.
        KeyboardInterrupt: The user interrupted; the jobs were cancelled.
        CepkitError: A worker met an error of ours.
    """
    from pyspark import InheritableThread, SparkContext

    if frame is not None:
        check_session(frame)
    context = SparkContext._active_spark_context  # noqa: SLF001 - there is no public way to ask
    if context is None or getattr(_watched, "action", False):
        with plain_errors():
            return action()
    jobs = [group or f"cepkit-{uuid.uuid4()}"]
    finished = threading.Event()
    outcome: dict[str, Any] = {}

    def work() -> None:
        _watched.action = True
        try:
            if own := context.getLocalProperty("spark.jobGroup.id"):
                jobs[0] = own  # the user's, who may cancel it as well
            else:
                context.setJobGroup(jobs[0], description or "cepkit", interruptOnCancel=True)
            with showing("", progress=False):  # the waiting thread shows the bar
                outcome["result"] = action()
        except BaseException as error:  # noqa: BLE001 - it is raised again below, in the user's thread
            outcome["error"] = error
        finally:
            finished.set()

    InheritableThread(target=work, daemon=True).start()
    bar = showing(description or "working", progress)
    with _interrupts_that_only_raise(), ThreadPoolExecutor(1) as caller, bar as shown:
        try:
            _watch(lambda: caller.submit(_tasks, context, jobs[0]), finished, shown, progress)
        except KeyboardInterrupt:
            # Repeat, because the action may be about to start its next job.
            until = time.monotonic() + _STOP_SECONDS
            while not finished.is_set() and time.monotonic() < until:
                caller.submit(context.cancelJobGroup, jobs[0]).result()
                if stop is not None:
                    caller.submit(stop).result()
                finished.wait(_LOOK_SECONDS)
            raise
    if "error" in outcome:
        with plain_errors():
            raise outcome["error"]
    result: Result = outcome["result"]
    return result


@contextlib.contextmanager
def _interrupts_that_only_raise() -> Iterator[None]:
    """Replace PySpark's handler of interrupts, which would cancel the jobs of all queries."""
    usual = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not getattr(usual, "__module__", "").startswith("pyspark"):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _watch(
    tasks: Callable[[], Future[tuple[int, int]]],
    done: threading.Event,
    shown: Work,
    progress: Progress,
) -> None:
    """Wait for the action, reporting finished tasks."""
    began = time.monotonic()
    quiet = SILENT_SECONDS if progress == "auto" else 0.0
    most = 0.0
    # Wait on an event: after an interrupted join, Python forgets that the thread still runs.
    while not done.wait(_LOOK_SECONDS):
        if not is_shown(progress) or time.monotonic() - began < quiet:
            continue
        finished, total = tasks().result()
        if total:
            # Another job adds tasks: the bar must not go back.
            most = max(most, finished / total)
            shown.tell(shown.what, most)


def tasks_of(group: str) -> tuple[int, int]:
    """Return the numbers of finished and of known tasks of a job group.

    Args:
        group: The `group` of `run_with_progress`.
    """
    from pyspark import SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001 - there is no public way to ask
    return (0, 0) if context is None else _tasks(context, group)


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    """Return the numbers of finished and of known tasks of a group."""
    tracker = context.statusTracker()
    finished = total = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            of_stage = tracker.getStageInfo(stage)
            if of_stage is not None:
                finished += of_stage.numCompletedTasks
                total += of_stage.numTasks
    return finished, total
