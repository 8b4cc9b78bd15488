"""Loops of an earlier process run without Numba, and give the results that they gave with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LOOPS = """
import sys
from typing import NamedTuple

import numpy as np

from cepkit.compiling import called, compiled, lent


class Pair(NamedTuple):
    values: np.ndarray
    factor: float
    inner: tuple


@lent
def twice(x):
    return 2 * x


@called
def squares(values):
    total = 0
    for i in range(values.size):
        total += values[i] * values[i]
    return total


@compiled
def fill(values, more, out):
    for i in range(values.size):
        out[i] = twice(values[i]) + more


@compiled
def table(rows, chosen):
    total = 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if chosen[j]:
                total += rows[i, j]
    return total


@compiled
def of_pair(pair, negative):
    first, second = pair.inner
    value = pair.values.sum() * pair.factor + first[0] + second
    return -value if negative else value


@compiled
def several(values):
    return squares(values), values.size, float(values[0]) / 2


@compiled
def is_long(values):
    return values.size > 3


@compiled
def allocating(n):
    total = 0
    for size in range(n):
        room = np.zeros((size + 1, 3), dtype=np.int64)
        room[size, 1] = size
        total += room.sum()
    return total


@compiled
def exponentials(values):
    total = 0.0
    for i in range(values.size):
        total += np.exp(values[i]) + np.log(values[i]) + values[i] ** 1.5 + np.floor(values[i])
    return total


@compiled
def changed(values):
    return values + 1
"""

CALLS = """
from loops_of_test import *

ints, floats = np.arange(5, dtype=np.int32), np.linspace(0.5, 2, 4)
frozen = floats.copy()
frozen.flags.writeable = False
out = np.zeros(5)
print(fill(ints, 3, out), out)
print(fill(ints[:0], 3, out[:0]), fill(frozen, 0.5, out), out)
print(table(np.arange(12).reshape(3, 4), np.array([True, False, True, True])))
for negative in (True, False, np.True_):
    print(of_pair(Pair(floats, 1.5, (ints, np.int64(7))), negative))
print(several(np.array([1, 2, 3])), is_long(ints), is_long(ints[:3]), type(is_long(ints)))
print(allocating(100), allocating(0))
print(exponentials(floats))
print(is_long(np.zeros(9, dtype="datetime64[s]")))
"""

WITH_NUMBA = """
print(fill(np.arange(10, dtype=np.int32)[::2], 3, out), out)  # no array in C order
print(changed(floats))  # an array is returned
print(twice(4), squares(np.array([3])))
"""

# Whoever reads the layout all the same calls None.
UNTESTED = """
from cepkit import native_loops
native_loops.numba_version = lambda: "99.0.1"
for name in ("_results", "entry_source", "load"):
    setattr(native_loops, name, None)
"""


def ran(folder: Path, *more: str, **environment: str) -> list[str]:
    """Return the lines printed; the last says whether Numba was imported."""
    (folder / "loops_of_test.py").write_text(LOOPS)
    search = os.pathsep.join([str(folder), *sys.path])
    text = "\n".join((CALLS, *more, 'print("numba" in sys.modules)'))
    answer = subprocess.run(
        [sys.executable, "-c", text],
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")},
            "PYTHONPATH": search,
            "NUMBA_CACHE_DIR": str(folder / "kept"),
            **environment,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with all compiled loops, and the results of Numba's."""
    folder = tmp_path_factory.mktemp("native")
    *given, numba = ran(folder)
    assert numba == "True"
    return folder, given


def test_loops_of_an_earlier_process_run_without_numba(compiled_once) -> None:
    folder, expected = compiled_once
    assert ran(folder) == [*expected, "False"]
    loaded = "from cepkit import native_loops; print(native_loops._entries)"
    assert ran(folder, loaded, NUMBA_DISABLE_JIT="1")[-2:] == ["{}", "False"]


def test_calls_without_a_native_loop_go_to_numba(compiled_once) -> None:
    folder, expected = compiled_once
    *given, numba = ran(folder, WITH_NUMBA)
    assert given[: len(expected)] == expected
    assert given[len(expected) :] == [
        "None [ 3.  7. 11. 15. 19.]",
        "[1.5 2.  2.5 3. ]",
        "8 9",
    ]
    assert numba == "True"


def test_many_calls_are_worth_the_import_of_numba(compiled_once) -> None:
    folder, expected = compiled_once
    more = "print(sum(allocating(0) for _ in range(30_000)))"
    assert ran(folder, more) == [*expected, "0", "True"]


def test_numba_that_is_set_otherwise_is_asked(compiled_once) -> None:
    folder, expected = compiled_once
    assert ran(folder, NUMBA_BOUNDSCHECK="0") == [*expected, "True"]
    settings = folder / ".numba_config.yaml"
    settings.write_text("boundscheck: 0\n")
    assert ran(folder) == [*expected, "True"]
    settings.unlink()
    assert ran(folder, "import numba; print(allocating(3))") == [*expected, "3", "True"]


def test_numba_of_an_untested_release_runs_all_loops_and_its_layout_is_not_read(
    compiled_once, tmp_path: Path
) -> None:
    _, expected = compiled_once
    (tmp_path / "sitecustomize.py").write_text(UNTESTED)
    for cached in (False, True):
        assert ran(tmp_path) == [*expected, "True"], f"cached: {cached}"


def test_a_loop_that_finds_no_memory_says_so(compiled_once) -> None:
    folder, _ = compiled_once
    more = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    room(1 << 40)
except MemoryError as error:
    print(type(error).__name__)
"""
    loop = """
@compiled
def room(n):
    return np.zeros(n).size
print(room(3))
"""
    source = folder / "room_of_test.py"
    source.write_text(f"from loops_of_test import *\n{loop}")
    asked = "from room_of_test import room\n" + more
    assert ran(folder, asked)[-2:] == ["MemoryError", "True"]
    assert ran(folder, asked)[-3:] == ["3", "MemoryError", "False"]


def test_a_damaged_loop_is_compiled_again(compiled_once) -> None:
    folder, expected = compiled_once
    for number, path in enumerate(sorted((folder / "kept").iterdir())):
        content = bytearray(path.read_bytes())
        content[40 + 97 * number] ^= 1
        path.write_bytes(content)
    assert ran(folder) == [*expected, "True"]
    assert ran(folder) == [*expected, "False"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_loops_that_others_could_write_are_not_run(compiled_once) -> None:
    folder, expected = compiled_once
    kept = folder / "kept"
    for path in kept.iterdir():
        path.chmod(0o666)
    assert ran(folder) == [*expected, "True"]
    assert ran(folder) == [*expected, "False"], "the files are replaced"
    kept.chmod(0o777)
    try:
        assert ran(folder)[-1] == "True"
    finally:
        kept.chmod(0o755)
