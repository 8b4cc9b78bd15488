"""The common parts of measurements on Spark: options, types, and processor time."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path

_TYPES = [f"T{rank:02d}" for rank in range(1, 51)]
_SETS = [", ".join(_TYPES[i::3]) for i in range(3)]

OF_ALL = f"PATTERN SEQ(a IN ({_SETS[0]}), b IN ({_SETS[1]}), c IN ({_SETS[2]})) "
"""A sequence of three events that takes all 50 types of the stream."""


def options(module: str) -> argparse.ArgumentParser:
    """Return the parser of the options that all of them have."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--runs", type=int, default=2)
    return parser


def processor_seconds() -> float | None:
    """Return the processor time of this process and all below it; None where /proc has none."""
    return _seconds(lambda _, __: True)


def worker_seconds() -> float | None:
    """Return the processor time of the Python processes below this one."""
    return _seconds(lambda process, name: process != os.getpid() and name != "java")


def worker_megabytes() -> float | None:
    """Return the most memory that one of these processes has ever had."""
    return _megabytes(lambda process, name: process != os.getpid() and name != "java")


def java_megabytes() -> float | None:
    """Return the most memory that the JVM below this process has ever had."""
    return _megabytes(lambda _, name: name == "java")


def _megabytes(wanted: Callable[[int, str], bool]) -> float | None:
    if not Path("/proc/self/stat").exists():
        return None
    most = 0
    for process in _ours(wanted):
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            continue
        most = max([most, *(int(n) for n in re.findall(r"VmHWM:\s+(\d+) kB", status))])
    return most / 1024 if most else None


def _seconds(wanted: Callable[[int, str], bool]) -> float | None:
    if not Path("/proc/self/stat").exists():
        return None
    return sum(_ours(wanted).values()) / os.sysconf("SC_CLK_TCK")


def _ours(wanted: Callable[[int, str], bool]) -> dict[int, int]:
    """Return the clock ticks of the processes that are wanted, this one and all below it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        try:
            head, _, rest = (entry / "stat").read_text().rpartition(")")
            fields = rest.split()
            parents[int(entry.name)] = int(fields[1])
            if wanted(int(entry.name), head.partition("(")[2]):
                ticks[int(entry.name)] = sum(map(int, fields[11:15]))
        except (OSError, ValueError, IndexError):
            continue

    def is_ours(process: int) -> bool:
        while process and process != os.getpid():
            process = parents.get(process, 0)
        return bool(process)

    return {process: spent for process, spent in ticks.items() if is_ours(process)}


def spent(before: float | None, after: float | None) -> float | None:
    """Return the seconds between two readings; None where there are none."""
    return None if before is None or after is None else after - before
