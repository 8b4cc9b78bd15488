"""Threads: how many this process may use, and jobs that run side by side with results in order.

A job is an iterator of results. Some jobs are open at a time, and each holds a few results at most:
a full one pauses until its results are taken, and whichever thread is free takes a job that can go
on. So memory is bounded, and no thread waits for a slow reader. The caller works too: if no other
thread is to be had, it runs all jobs itself, one after the other.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Generic, TypeVar

from cepkit.arguments import check_range
from cepkit.errors import ArgumentError, shown
from cepkit.memory import control_groups, lines_of

VARIABLE = "CEPKIT_THREADS"
"""The environment variable with the most threads that this process may use for its work."""

MOST = 1024
"""The most threads."""

HELD = 1 << 23
"""A job pauses while its results that nobody has taken have so many bytes."""

_LEAVE_SECONDS = 0.2
"""How long a caller that stops waits for its threads, which end before their next step."""

T = TypeVar("T")


_asked: contextvars.ContextVar[int | None] = contextvars.ContextVar("threads", default=None)


@contextmanager
def limited_to(threads: int | None) -> Iterator[None]:
    """Limit the threads of all work that begins inside; None: keep the limit of outside.

    Raises:
        ArgumentError: `threads` or the variable `CEPKIT_THREADS` is not a number of threads.
    """
    _most()
    if threads is not None:
        check_range("threads", threads, 1)
    outside = _asked.get()
    token = _asked.set(min((n for n in (outside, threads) if n is not None), default=None))
    try:
        yield
    finally:
        _asked.reset(token)


def threads_asked() -> int | None:
    """Return the current limit of `limited_to`, for a result that works later."""
    return _asked.get()


def number_of_threads() -> int:
    """Return how many threads may be used here; inside of a task of Spark one.

    Raises:
        ArgumentError: `CEPKIT_THREADS` is not a number of threads.
    """
    most, asked = _most(), _asked.get()
    tasks = sys.modules.get("pyspark.taskcontext")
    if tasks is not None and tasks.TaskContext.get() is not None:
        return 1
    return most if asked is None else min(asked, most)


def _most() -> int:
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return cores()
    number = int(text) if text.isdecimal() and len(text) < len(str(MOST)) + 1 else 0
    if not 1 <= number <= MOST:
        expected = f"a number from 1 to {MOST}, or none for all cores"
        raise ArgumentError(f"{VARIABLE}={shown(text)} in the environment", expected=expected)
    return number


def cores() -> int:
    """Return how many cores this process may use, by its affinity and its control groups."""
    affinity = getattr(os, "sched_getaffinity", None)  # only Linux has it
    own = os.cpu_count() or 1 if affinity is None else len(affinity(0))
    return min(own, MOST, *_quotas())


@cache
def _quotas() -> tuple[int, ...]:
    """Return how many cores the control groups of this process grant it."""
    quotas = []
    for folder, new in control_groups("cpu"):
        names = ("cpu.max",) if new else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = " ".join(" ".join(lines_of(f"{folder}/{name}")) for name in names).split()
        if len(words) == 2 and all(word.isdecimal() for word in words):
            quota, period = map(int, words)
            quotas.append(max(1, -(-quota // max(1, period))))
    return tuple(quotas)


class _Cores:
    """How many threads of all callers work now."""

    def __init__(self) -> None:
        self._lock, self._busy = threading.Lock(), 0

    def add(self, threads: int) -> None:
        """Count a caller that works, or, negative, threads that have stopped."""
        with self._lock:
            self._busy += threads

    def take(self, most: int) -> bool:
        """Count one more thread if there is a core for it."""
        with self._lock:
            free = self._busy < most
            self._busy += free
        return free

    def are_short(self, most: int) -> bool:
        """Return whether more threads work than there are cores."""
        return self._busy > most


_cores = _Cores()


def _forget_threads() -> None:
    """Begin anew in a process that was forked: its parent's threads are not there."""
    global _cores  # noqa: PLW0603 - it is about the process
    _cores = _Cores()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


class _Here(threading.local):
    """The current work of a thread.

    Attributes:
        stop: Of one that helps a caller: whether that has stopped.
        works: Whether it counts as working.
    """

    stop: threading.Event | None = None
    works = False


_here = _Here()


class _StoppedError(BaseException):
    """Ends a job whose caller has stopped."""


def end_if_stopped() -> None:
    """End the job of this thread if its caller has stopped; call it between long steps."""
    stop = _here.stop
    if stop is not None and stop.is_set():
        raise _StoppedError


Job = Callable[[], Iterator[T]]


def in_order(
    jobs: Iterable[Job[T]], threads: int, weight: Callable[[T], int] = lambda _: 1
) -> Iterator[T]:
    """Yield the results of jobs in the order of the jobs, which run side by side.

    An error is raised where its results would come, so it is that of the first job that has one.

    Args:
        jobs: Each returns an iterator of results. They are taken as they are needed, one at a time
            and in order, by any thread. Results must stay valid while the job goes on.
        threads: The most threads, this one included; at most so many jobs and one are open.
        weight: The bytes of a result.
    """
    if threads == 1 or _here.stop is not None:
        for job in jobs:
            yield from job()
    else:
        yield from _Run(jobs, threads, weight).results()


def together(*calls: Callable[[], T]) -> tuple[T, ...]:
    """Return the results of some calls, which run side by side."""

    def job(call: Callable[[], T]) -> Iterator[T]:
        yield call()  # only when a thread goes on with it: jobs are begun one at a time

    return tuple(in_order((partial(job, call) for call in calls), number_of_threads()))


class _Open(Generic[T]):
    """A job that has begun and whose results are not all taken.

    Attributes:
        steps: Its results to come.
        results: Those that nobody has taken.
        held: Their bytes.
        is_busy: Whether a thread runs it.
        is_over: Whether it has ended.
        error: What ended it too early.
    """

    def __init__(self, steps: Iterator[T]) -> None:
        self.steps = steps
        self.results: deque[tuple[T, int]] = deque()
        self.held = 0
        self.is_busy, self.is_over = False, False
        self.error: BaseException | None = None


class _Run(Generic[T]):
    """Jobs that run side by side; see `in_order`."""

    def __init__(self, jobs: Iterable[Job[T]], threads: int, weight: Callable[[T], int]) -> None:
        self._jobs, self._threads, self._weight = iter(jobs), threads, weight
        self._most = _most()
        self._open: deque[_Open[T]] = deque()
        self._changed = threading.Condition()
        self._begins, self._is_beginning = True, False
        self._stop = threading.Event()
        self._helpers: set[threading.Thread] = set()
        self._cores = _cores

    def results(self) -> Iterator[T]:
        """Yield the results in order."""
        try:
            while True:
                # A caller that does something else with a result does not count as working.
                with self._working():
                    first = self._ready()
                if first is None:
                    return
                while first.results:
                    result, size = first.results.popleft()
                    with self._changed:
                        first.held -= size
                    yield result
                    del result
        finally:
            self._leave()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Count this thread as working, once: it may run jobs that have jobs."""
        if _here.works:
            yield
            return
        self._cores.add(1)
        _here.works = True
        try:
            yield
        finally:
            _here.works = False
            self._cores.add(-1)

    def _ready(self) -> _Open[T] | None:
        """Work until the first open job has results, and return it; None when all is done."""
        while True:
            with self._changed:
                while self._open and self._open[0].is_over and not self._open[0].results:
                    error = self._open.popleft().error
                    if error is not None:
                        raise error
                ready = bool(self._open and self._open[0].results)
                own = None if ready else self._next()
                if not self._open and not self._is_beginning:
                    return None
                first = self._open[0] if self._open else None
                self._get_help()
                if ready:
                    return first
                if own is None:
                    if first is None or not first.is_over:
                        self._changed.wait()
                    continue
            self._advance(own, until=first)

    def _next(self) -> _Open[T] | None:
        """Mark the first job that can go on as busy, and return it; None: no job can."""
        job = next(filter(self._can_go_on, self._open), None)
        if job is not None:
            job.is_busy = True
        elif self._may_begin:
            job = self._begin()
        return job

    def _can_go_on(self, job: _Open[T]) -> bool:
        return not job.is_busy and not job.is_over and job.held < HELD

    @property
    def _may_begin(self) -> bool:
        """Whether another job may begin now."""
        return self._begins and not self._is_beginning and len(self._open) <= self._threads

    def _begin(self) -> _Open[T] | None:
        """Begin the next job, while other threads go on; None if there is none."""
        self._is_beginning = True
        self._changed.release()
        error: BaseException | None = None
        try:
            job = _Open(iter(next(self._jobs)()))
        except StopIteration:
            job = None
        except BaseException as raised:
            if not isinstance(raised, Exception) and _here.stop is not self._stop:
                raise  # the caller's own: it is interrupted
            error, job = raised, _Open[T](iter(()))
        finally:
            self._changed.acquire()
            self._is_beginning = False
            self._changed.notify_all()
        self._begins = job is not None and error is None
        if job is not None:
            job.is_busy, job.is_over, job.error = error is None, error is not None, error
            self._open.append(job)
            self._get_help()
        return job if self._begins else None

    def _get_help(self) -> None:
        """Start threads for the jobs that can go on, one for each free core."""
        jobs = sum(map(self._can_go_on, self._open))
        jobs += self._may_begin * (self._threads + 1 - len(self._open))
        for _ in range(min(jobs, self._threads - 1 - len(self._helpers))):
            if not self._cores.take(self._most):
                return
            # What depends on the context, as the handling of overflows, holds there as well.
            run = contextvars.copy_context().run
            helper = threading.Thread(target=run, args=(self._help,), name="cepkit", daemon=True)
            self._helpers.add(helper)
            try:
                helper.start()
            except RuntimeError:  # the system has no thread left
                self._helpers.discard(helper)
                self._cores.add(-1)
                return

    def _help(self) -> None:
        """Run jobs while there are some; this is another thread."""
        _here.stop, _here.works = self._stop, True
        while True:
            with self._changed:
                job = None
                if not (self._stop.is_set() or self._cores.are_short(self._most)):
                    job = self._next()
                if job is None:
                    self._helpers.discard(threading.current_thread())
                    self._cores.add(-1)
                    self._changed.notify_all()
                    return
            self._advance(job)

    def _advance(self, job: _Open[T], until: _Open[T] | None = None) -> None:
        """Run a job to its end, until it is full, or until another one has something."""
        error: BaseException | None = None
        is_over = False
        try:
            for result in job.steps:
                size = self._weight(result)
                with self._changed:
                    job.results.append((result, size))
                    job.held += size
                    self._changed.notify_all()
                if job.held >= HELD or self._stop.is_set():
                    return
                if until is not None and (until.results or until.is_over):
                    return
            is_over = True
        except Exception as raised:  # noqa: BLE001 - it is raised in its turn
            error, is_over = raised, True
        except BaseException as raised:
            if until is not None:  # the caller's own: it is interrupted
                raise
            error, is_over = raised, True
        finally:
            with self._changed:
                job.is_busy, job.is_over, job.error = False, is_over, error
                self._changed.notify_all()

    def _leave(self) -> None:
        """End the threads."""
        self._stop.set()
        with self._changed:
            self._open.clear()
            helpers = [*self._helpers]
        for helper in helpers:
            if helper is not threading.current_thread():
                helper.join(_LEAVE_SECONDS / len(helpers))
