"""How much memory is free, by the system's numbers, and when a growing result is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cepkit import memory
from cepkit.errors import LimitError
from cepkit.memory import Expected, Room, free_memory

MIB = 1 << 20
MEMINFO = ["MemTotal:       16384 kB", "MemFree:  1 kB", "MemAvailable:    8192 kB"]


@pytest.fixture
def system(monkeypatch):
    """Return a function that sets the contents of the system's files."""

    def set_files(**files: str) -> None:
        known = {path.replace("|", "/"): text.splitlines() for path, text in files.items()}
        known.setdefault("/proc/meminfo", MEMINFO)
        monkeypatch.setattr(memory, "lines_of", lambda path: known.get(path, []))

    return set_files


def test_free_memory_is_the_available_memory_of_the_machine(system):
    system()
    assert free_memory() == 8 * MIB


def test_a_system_that_does_not_say_it_has_half_of_its_memory(monkeypatch):
    monkeypatch.setattr(memory, "lines_of", lambda path: [])
    monkeypatch.setattr(
        memory.os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__
    )
    assert free_memory() == 500 * 4096


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/one", "/of/the/host"])
def test_free_memory_is_limited_by_control_groups(system, path):
    group = "/sys/fs/cgroup" + ("/jobs" if path.startswith("/jobs") else "")
    system(
        **{
            "/proc/self/cgroup": f"0::{path}",
            "/sys/fs/cgroup/jobs/one/memory.max": "max",
            "/sys/fs/cgroup/jobs/one/memory.current": "5",
            f"{group}/memory.max": str(7 * MIB),
            f"{group}/memory.current": str(4 * MIB),
            f"{group}/memory.stat": f"anon 1\ninactive_file {MIB}\n",
        }
    )
    assert free_memory() == 4 * MIB


def test_the_groups_of_an_older_system(system):
    folder = "/sys/fs/cgroup/memory/jobs"
    system(
        **{
            "/proc/self/cgroup": "5:cpu,cpuacct:/other\n4:memory:/jobs\n0::/",
            f"{folder}/memory.limit_in_bytes": str(7 * MIB),
            f"{folder}/memory.usage_in_bytes": str(6 * MIB),
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes": "5",
        }
    )
    assert free_memory() == MIB


def test_free_memory_is_zero_over_the_limit_of_a_group(system):
    system(
        **{
            "/proc/self/cgroup": "0::/",
            "/sys/fs/cgroup/memory.max": "5",
            "/sys/fs/cgroup/memory.current": "6",
        }
    )
    assert free_memory() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the size of a process")
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_free_memory_is_limited_by_ulimit(limit):
    script = f"""
import resource
from cepkit.memory import free_memory
resource.setrlimit(resource.{limit}, (4 << 30, 4 << 30))
before = free_memory()
held = bytearray(256 << 20)
assert before < 4 << 30, before
assert 200 << 20 < before - free_memory() < 300 << 20, (before, free_memory())
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.fixture
def free(monkeypatch):
    """Set how many bytes are free."""

    def set_free(size: int) -> None:
        monkeypatch.setattr(memory, "free_memory", lambda: size)

    return set_free


def room(expected: Expected | None = None, copies: int = 1) -> Room:
    return Room("rows", "a table", "ask for fewer", lambda: expected, copies)


def test_result_may_grow_to_the_memory_that_stays_free(free):
    free(100 * MIB)
    growing = room()
    for _ in range(100):
        growing.take(1, MIB)
    with pytest.raises(LimitError) as error:
        growing.take(8, 8 * MIB)
    assert "more than 10" in error.value.found
    assert "as a table; 104.9 MB are left" in error.value.found
    assert error.value.hint == "ask for fewer"


def test_memory_given_back_can_be_taken_again(free):
    free(100 * MIB)
    growing = room()
    for _ in range(1000):
        growing.take(1, 90 * MIB)
        growing.take(0, -90 * MIB)


def test_a_size_estimated_too_low_ends_before_the_memory_does(monkeypatch):
    whole, real = 1000 * MIB, 0
    monkeypatch.setattr(memory, "free_memory", lambda: whole - real)
    growing = room()

    def grow() -> None:
        nonlocal real
        while real < whole:
            real += 5 * MIB
            growing.take(1, MIB)

    with pytest.raises(LimitError):
        grow()
    assert real < whole


def test_copies_that_are_yet_to_be_made_count(free):
    free(100 * MIB)
    room(copies=3).take(1, 33 * MIB)
    with pytest.raises(LimitError):
        room(copies=3).take(1, 34 * MIB)


def test_planned_memory_counts_before_and_after_it_is_filled(monkeypatch):
    taken = 0
    monkeypatch.setattr(memory, "free_memory", lambda: 100 * MIB - taken)
    growing = room()
    for _ in range(10):
        growing.plan(1, 5 * MIB)
    with pytest.raises(LimitError, match=r"41\.9 MB are left"):
        growing.plan(1, 10 * MIB)
    growing = room()
    growing.plan(10, 48 * MIB)
    taken = 24 * MIB
    growing.fill(24 * MIB, 24 * MIB)
    assert (growing.size, growing.planned) == (48 * MIB, 24 * MIB)
    taken = 60 * MIB
    with pytest.raises(LimitError):
        growing.fill(24 * MIB, 36 * MIB)


@pytest.mark.parametrize(("doubt", "fits", "too_many"), [(1.0, 100, 102), (10.0, 1000, 1020)])
def test_expected_rows_beyond_memory_are_refused_at_once(free, doubt, fits, too_many):
    # A row is a MiB, and of 201 MiB there is room for 100 beside as many that stay free.
    free(200 * MIB)
    room(Expected(fits, doubt, "some are expected")).take(1, MIB)
    with pytest.raises(LimitError) as error:
        room(Expected(too_many, doubt, "some are expected")).take(1, MIB)
    assert error.value.found.startswith("some are expected, which need about 1")
    assert error.value.expected == "at most half of the 210.8 MB that are free"
