"""Memory limits: free memory, and refusal of results before they take too much.

A result may grow until it takes as much as is still free. So results that grow at the same time,
here or in other processes, all stop before memory runs out, and so does a result whose size is
underestimated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cepkit.errors import LimitError

_UNKNOWN = 4 << 30
"""The assumed memory if the system does not tell."""

_STEP = 1 << 26
"""A result checks the free memory again after growing by this many bytes."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected number of rows of a result.

    Attributes:
        rows: The number.
        doubt: Refuse at once only if they exceed the room by this factor. A forecast may be wrong
            by factors; the real growth is limited in any case.
        text: The number in the error message.
    """

    rows: float
    doubt: float
    text: str


@dataclass(slots=True)
class Room:
    """The memory that a result takes as it grows.

    Args:
        what: The name of its rows: "matches".
        form: Their container: "a DataFrame".
        hint: Other calls to use instead.
        expected: Returns the expected number of rows; None if unknown.
        copies: The memory for building the result, as a multiple of the memory for its rows.

    Attributes:
        rows: How many rows there are.
        size: Their size in bytes.
        planned: How many of these bytes are still free.
    """

    what: str
    form: str
    hint: str
    expected: Callable[[], Expected | None] = lambda: None
    copies: int = 1
    rows: int = 0
    size: int = 0
    planned: int = 0
    _next: int = 0

    def plan(self, rows: int, size: int) -> None:
        """Take room for more rows whose memory will be needed later; raises as `take` does."""
        self.planned += size * self.copies
        self.take(rows, size)

    def fill(self, planned: int, size: int) -> None:
        """Take the room that planned bytes turn out to need; raises as `take` does.

        Args:
            planned: How many of the planned bytes.
            size: How many were needed.
        """
        self.planned -= planned * self.copies
        self.take(0, size - planned)

    def take(self, rows: int, size: int) -> None:
        """Take room for more rows.

        Args:
            size: Their bytes; negative if the result has become smaller.

        Raises:
            LimitError: They do not fit, or the expected ones would not.
        """
        self.rows += rows
        self.size += size * self.copies
        if self.size < self._next:
            return
        free = free_memory()
        available = self.size - self.planned + free
        self._next = self.size + min(_STEP, free // 16)
        expected = self.expected()
        if expected is not None and self.rows:
            whole = self.size / self.rows * expected.rows
            if whole > expected.doubt * available / 2:
                raise LimitError(
                    f"{expected.text}, which need about {size_text(whole)} of memory as"
                    f" {self.form}",
                    expected=f"at most half of the {size_text(available)} that are free",
                    hint=self.hint,
                )
        if 2 * self.size > available:
            raise self.full(max(0, available - self.size))

    def full(self, free: int | None = None) -> LimitError:
        """Return the error of a result that has taken too much.

        Args:
            free: The free bytes; None if the system refused more memory.
        """
        expected = self.expected()
        left = "no more memory is free" if free is None else f"{size_text(free)} are left"
        return LimitError(
            f"more than {self.rows:,} {self.what}, which need {size_text(self.size)} of memory as"
            f" {self.form}; {left}{f' ({expected.text})' if expected else ''}",
            expected="a result that takes at most half of the free memory",
            hint=self.hint,
        )


def free_memory() -> int:
    """Return how many bytes this process may still take.

    That is the minimum of the machine's available memory (without swapping), the rest allowed by
    the control groups of a container, and the rest allowed by `ulimit`. If the system does not tell
    the available memory it is half of the installed memory; if that is unknown too, 4 GiB.
    """
    return max(0, min((*_machine(), *_groups(), *_process())))


def _machine() -> Iterator[int]:
    available = [line for line in lines_of("/proc/meminfo") if line.startswith("MemAvailable:")]
    if available:
        yield int(available[0].split()[1]) * 1024
        return
    try:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):  # Windows knows neither
        yield _UNKNOWN


def _groups() -> Iterator[int]:
    """Yield the remaining memory of this process's control group and its parents."""
    for folder, new in control_groups("memory"):
        if new:
            yield from _left(folder, "memory.max", "memory.current", "inactive_file")
        else:
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _left(folder, *names)


def control_groups(controller: str) -> Iterator[tuple[str, bool]]:
    """Yield the folders of this process's control group and its parents.

    Args:
        controller: What they limit: "memory", "cpu".

    Yields:
        Each folder, and whether it is of version 2.
    """
    for line in lines_of("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = f"/sys/fs/cgroup/{controller}" if controllers else "/sys/fs/cgroup"
        # In a container the path may be the host's, where only the root is visible.
        group = Path(path)
        for folder in (group, *group.parents):
            yield f"{root}{folder}".rstrip("/"), not controllers


def _left(folder: str, limit: str, used: str, cache: str) -> Iterator[int]:
    most, now = lines_of(f"{folder}/{limit}"), lines_of(f"{folder}/{used}")
    if most and now and most[0].isdigit():
        # Inactive file pages are reclaimed when memory is needed.
        kept = [line for line in lines_of(f"{folder}/memory.stat") if line.startswith(f"{cache} ")]
        yield int(most[0]) - int(now[0]) + sum(int(line.split()[1]) for line in kept)


def _process() -> Iterator[int]:
    """Yield the rest of this process's limits: address space and data."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_DATA, getpagesize, getrlimit
    except ImportError:  # Windows, and a browser
        return
    pages = " ".join(lines_of("/proc/self/statm")).split()
    for limit, used in ((RLIMIT_AS, 0), (RLIMIT_DATA, 5)):
        most = getrlimit(limit)[0]
        if pages and most != RLIM_INFINITY:
            yield most - int(pages[used]) * getpagesize()


def lines_of(path: str) -> list[str]:
    """Return the lines of a system file; none if it does not exist."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def size_text(size: float) -> str:
    """Return a number of bytes for people."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
