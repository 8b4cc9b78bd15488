"""Memory limits: free memory, and results that are refused before they take too much.

A result may grow until it takes as much as is left free beside it. So results that grow at the same
time, here or in other processes, all end before the memory does, and so does a result whose size is
estimated too low.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cepkit.errors import LimitError

_UNKNOWN = 4 << 30
"""Where nothing tells how much memory there is."""

_STEP = 1 << 26
"""Bytes by which a result grows until it is compared with the free memory again."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How many rows a result is expected to have.

    Attributes:
        rows: How many.
        doubt: How many times as many as fit they must be to be refused at once. A forecast may be
            wrong by factors; what really comes is stopped in any case.
        text: The number as the error tells it.
    """

    rows: float
    doubt: float
    text: str


@dataclass(slots=True)
class Room:
    """The memory that a result takes as it grows.

    Args:
        what: What its rows are: "matches".
        form: What they are held as: "a DataFrame".
        hint: What can be asked instead.
        expected: Returns how many rows there will be, None where that is not known.
        copies: How many times as much is needed to make the result as to hold its rows.

    Attributes:
        rows: How many rows there are.
        size: What they take, in bytes.
    """

    what: str
    form: str
    hint: str
    expected: Callable[[], Expected | None] = lambda: None
    copies: int = 1
    rows: int = 0
    size: int = 0
    _next: int = 0

    def take(self, rows: int, size: int) -> None:
        """Take room for more rows.

        Args:
            size: What they take, in bytes; less than 0 where the result has become smaller.

        Raises:
            LimitError: They do not fit, or not all that are expected would.
        """
        self.rows += rows
        self.size += size * self.copies
        if self.size < self._next:
            return
        free = free_memory()
        self._next = self.size + min(_STEP, free // 16)
        expected = self.expected()
        if expected is not None and self.rows:
            whole = self.size / self.rows * expected.rows
            if whole > expected.doubt * (self.size + free) / 2:
                raise LimitError(
                    f"{expected.text}, which need about {_text(whole)} of memory as {self.form}",
                    expected=f"at most half of the {_text(self.size + free)} that are free",
                    hint=self.hint,
                )
        if self.size > free:
            raise self.full(free)

    def full(self, free: int | None = None) -> LimitError:
        """Return the error of a result that has taken too much.

        Args:
            free: The bytes that are left; None where the system has refused more.
        """
        expected = self.expected()
        left = "no more is to be had" if free is None else f"{_text(free)} are left"
        return LimitError(
            f"more than {self.rows:,} {self.what}, which need {_text(self.size)} of memory as"
            f" {self.form}; {left}{f' ({expected.text})' if expected else ''}",
            expected="a result that takes at most half of the free memory",
            hint=self.hint,
        )


def free_memory() -> int:
    """Return how many bytes this process may still take.

    That is the least of what the machine has available (without swapping), what the control groups
    of a container leave, and what `ulimit` allows the process. Where the system does not say what
    is available it is half of the memory that is built in, where that is not known either 4 GiB.
    """
    return max(0, min((*_machine(), *_groups(), *_process())))


def _machine() -> Iterator[int]:
    available = [line for line in _read("/proc/meminfo") if line.startswith("MemAvailable:")]
    if available:
        yield int(available[0].split()[1]) * 1024
        return
    try:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):  # Windows knows neither
        yield _UNKNOWN


def _groups() -> Iterator[int]:
    """Yield what the control group of this process, and those above it, leave."""
    for line in _read("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            root, names = "/sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = "/sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # In a container the path may be the host's, of which only the root is to be seen.
        group = Path(path)
        for folder in (group, *group.parents):
            yield from _left(f"{root}{folder}".rstrip("/"), *names)


def _left(folder: str, limit: str, used: str, cache: str) -> Iterator[int]:
    most, now = _read(f"{folder}/{limit}"), _read(f"{folder}/{used}")
    if most and now and most[0].isdigit():
        # Pages of files that nobody has used lately are given back when memory is wanted.
        kept = [line for line in _read(f"{folder}/memory.stat") if line.startswith(f"{cache} ")]
        yield int(most[0]) - int(now[0]) + sum(int(line.split()[1]) for line in kept)


def _process() -> Iterator[int]:
    """Yield what the limits of this process leave: of addresses and of data."""
    try:
        import resource
    except ImportError:  # Windows
        return
    pages = " ".join(_read("/proc/self/statm")).split()
    for limit, used in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most = resource.getrlimit(limit)[0]
        if pages and most != resource.RLIM_INFINITY:
            yield most - int(pages[used]) * resource.getpagesize()


def _read(path: str) -> list[str]:
    """Return the lines of one of the system's files, none where there is no such file."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _text(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
