"""Progress bars of Spark jobs, which are cancelled on Ctrl-C.

The action runs in a thread of its own under a job group; this thread looks at the group's tasks
a few times a second. Interrupting an action from Python alone would leave its tasks running:
here the group is cancelled, which takes a fraction of a second, and the session stays usable.

This thread, which an interrupt reaches, never talks to Java itself: an interrupt in the middle of a
call would leave an answer on the thread's connection that the next call takes for its own.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from cepkit.progress import SILENT_SECONDS, Progress, Work, is_shown, showing
from cepkit.spark.session.failures import plain_errors

if TYPE_CHECKING:
    from pyspark.core.context import SparkContext

Result = TypeVar("Result")
_LOOK_SECONDS = 0.2
_STOP_SECONDS = 30.0

_watched = threading.local()
"""Whether this thread runs an action that is watched: what it calls is then watched with it."""


def run_with_progress(
    action: Callable[[], Result],
    description: str = "",
    *,
    progress: Progress = "auto",
    group: str | None = None,
) -> Result:
    """Return what an action on Spark returns, with a bar while it runs.

    Args:
        action: Starts Spark jobs: `lambda: matches.write.parquet(path)`.
        description: What the bar says it does.
        progress: True for a bar; "auto" for one in a terminal or a notebook, and only when the
            action takes more than two seconds; False for none (the user may still interrupt).
        group: What the jobs are called together, for `tasks_of`; None: a name of their own.

    Raises:
        KeyboardInterrupt: The user interrupted; the jobs were cancelled.
        CepkitError: A worker met an error of ours.
    """
    from pyspark import InheritableThread, SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001 - there is no public way to ask
    if context is None or getattr(_watched, "action", False):
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
            with showing("", progress=False):  # it is shown from the thread that waits
                outcome["result"] = action()
        except BaseException as error:  # noqa: BLE001 - it is raised again below, in the user's thread
            outcome["error"] = error
        finally:
            finished.set()

    InheritableThread(target=work, daemon=True).start()
    with ThreadPoolExecutor(1) as caller, showing(description or "working", progress) as shown:
        try:
            _watch(lambda: caller.submit(_tasks, context, jobs[0]), finished, shown, progress)
        except KeyboardInterrupt:
            # Again and again, as the action may be about to start its next job.
            stop = time.monotonic() + _STOP_SECONDS
            while not finished.is_set() and time.monotonic() < stop:
                caller.submit(context.cancelJobGroup, jobs[0]).result()
                finished.wait(_LOOK_SECONDS)
            raise
    if "error" in outcome:
        with plain_errors():
            raise outcome["error"]
    result: Result = outcome["result"]
    return result


def _watch(
    tasks: Callable[[], Future[tuple[int, int]]],
    done: threading.Event,
    shown: Work,
    progress: Progress,
) -> None:
    """Wait for the action, telling how many tasks are done."""
    began = time.monotonic()
    quiet = SILENT_SECONDS if progress == "auto" else 0.0
    most = 0.0
    # An event, not the thread's join: an interrupted join forgets that the thread still runs.
    while not done.wait(_LOOK_SECONDS):
        if not is_shown(progress) or time.monotonic() - began < quiet:
            continue
        finished, total = tasks().result()
        if total:
            # A further job begins with more tasks to do: a bar that goes back says nothing.
            most = max(most, finished / total)
            shown.tell(shown.what, most)


def tasks_of(group: str) -> tuple[int, int]:
    """Return how many tasks of a job group are done, and how many are known of.

    Args:
        group: What `run_with_progress` was given.
    """
    from pyspark import SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001 - there is no public way to ask
    return (0, 0) if context is None else _tasks(context, group)


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    """Return how many tasks of a group are done, and how many are known of."""
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
