"""Loops that are kept on disk: they are compiled anew where anything that they call has changed."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

import cepkit
from cepkit import caches, compiled_loops, compiling
from cepkit.columnar.skip_till_next import detection
from tests.absent import without

HELPER = """from cepkit.compiling import lent

@lent
def more(x):
    return x + {more}
"""
LOOP = """import sys

from cepkit.compiling import compiled
from helper_of_loop import more
from words_of_loop import FACTOR

@compiled
def run(x):
    return twice(x)

@compiled
def twice(x):
    return FACTOR * more(more(x))

print(run(1), int("numba" not in sys.modules))
"""


def ran(folder: Path) -> str:
    search = os.pathsep.join([str(folder), *sys.path])
    found = subprocess.run(
        [sys.executable, "-c", "import loop"],
        env={**os.environ, "PYTHONPATH": search, "NUMBA_CACHE_DIR": str(folder / "kept")},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip()


@pytest.mark.slow
def test_a_loop_is_compiled_anew_where_a_helper_in_another_file_has_changed(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    helper = tmp_path / "helper_of_loop.py"
    helper.write_text(HELPER.format(more=1))
    (tmp_path / "words_of_loop.py").write_text("FACTOR = 1\n")
    assert ran(tmp_path) == "3 0"
    assert ran(tmp_path) == "3 1"
    helper.write_text(HELPER.format(more=10))
    later = helper.stat().st_mtime + 10
    os.utime(helper, (later, later))
    assert ran(tmp_path) == "21 0"


def test_a_loop_is_compiled_anew_where_a_constant_of_another_file_has_changed(
    tmp_path: Path,
) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "helper_of_loop.py").write_text(HELPER.format(more=1))
    words = tmp_path / "words_of_loop.py"
    words.write_text("FACTOR = 1\n")
    assert ran(tmp_path) == "3 0"
    words.write_text("FACTOR = 7\n")
    later = words.stat().st_mtime + 10
    os.utime(words, (later, later))
    assert ran(tmp_path) == "21 0"


@pytest.mark.slow
def test_a_loop_is_compiled_anew_where_the_fields_of_a_record_have_changed(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import sys\nfrom cepkit.compiling import compiled\nfrom record_of_loop import Pair\n\n"
        "@compiled\ndef run(pair):\n    return pair.x\n\n"
        "print(run(Pair(x=1, y=2)), int('numba' not in sys.modules))\n"
    )
    record = tmp_path / "record_of_loop.py"
    lines = "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    {}: int\n    {}: int\n"
    record.write_text(lines.format("x", "y"))
    assert ran(tmp_path) == "1 0"
    assert ran(tmp_path) == "1 1"
    record.write_text(lines.format("y", "x"))
    later = record.stat().st_mtime + 10
    os.utime(record, (later, later))
    assert ran(tmp_path) == "1 0"


def test_compiling_is_announced_once_on_a_machine(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "helper_of_loop.py").write_text(HELPER.format(more=1))
    words = tmp_path / "words_of_loop.py"
    words.write_text("FACTOR = 1\n")
    line = "compiling loops, once on this machine\n"
    assert written(tmp_path) == line
    assert written(tmp_path) == ""
    words.write_text("FACTOR = 22\n")
    assert written(tmp_path, watched=False) == ""  # no terminal, no notebook
    words.write_text("FACTOR = 333\n")
    assert written(tmp_path, silent=60.0) == ""


def written(folder: Path, *, watched: bool = True, silent: float = 0.0) -> str:
    """Return what goes to stderr when a loop runs."""
    look = (
        f"import cepkit.compiled_loops as c; c.is_watched = lambda: {watched};"
        f"c.SILENT_SECONDS = {silent}; import loop"
    )
    search = os.pathsep.join([str(folder), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", look],
        env={**os.environ, "PYTHONPATH": search, "NUMBA_CACHE_DIR": str(folder / "kept")},
        capture_output=True,
        text=True,
        check=True,
    ).stderr


def test_short_compilations_add_up_to_a_long_one(monkeypatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(compiled_loops, "is_watched", lambda: True)
    monkeypatch.setattr(compiled_loops, "tell", lines.append)
    monkeypatch.setattr(compiled_loops, "SILENT_SECONDS", 600.0)
    now = 0.0
    monkeypatch.setattr(compiled_loops, "perf_counter", lambda: now)
    clock = compiled_loops._Clock()
    begin, end = SimpleNamespace(is_start=True), SimpleNamespace(is_start=False)
    for _ in range(3):
        for event in (begin, begin, end):  # a loop that a loop calls
            clock.notify(event)
        now += 250.0
        clock.notify(end)
    assert not lines
    clock.notify(begin)
    alarm = clock._alarm
    assert alarm is not None
    alarm.join(300)
    assert lines == ["compiling loops, once on this machine"]
    clock.notify(end)
    clock.notify(begin)
    assert clock._alarm is None
    clock.notify(end)


@pytest.mark.parametrize("compile_it", [compiling.lent, compiling.called])
def test_functions_called_by_loops_can_be_called_from_python(compile_it):
    def twice(values):
        return values[0] * 2

    inner = compile_it(twice)

    @compiling.compiled
    def loop(values):
        return inner(values) + 1

    values = np.array([3.0])
    assert (inner(values), loop(values), loop.py_func(values)) == (6.0, 7.0, 7.0)


@pytest.fixture
def doubled(monkeypatch) -> compiling._Loop:
    """A loop of which nothing is cached, compiled beyond three events."""
    monkeypatch.setattr(compiling, "PLAIN_SECONDS", 3.0)
    new = secrets.randbits(60)

    @compiling.compiled_beyond(3)
    def double(values: Any, more: Any) -> int:
        values *= 2
        return new + more.size

    return double


def test_loop_over_few_events_runs_as_plain_python(doubled) -> None:
    values = np.full(3, 2**62)
    doubled(values, np.zeros(9))
    assert values.tolist() == [-(2**63)] * 3
    assert "dispatcher" not in vars(doubled)


def test_loop_over_more_events_is_compiled(doubled) -> None:
    doubled(np.zeros(4), np.zeros(1))
    assert doubled.dispatcher.signatures


def test_loop_over_few_events_is_compiled_once_it_has_run_for_long(doubled, monkeypatch) -> None:
    doubled(np.zeros(3), np.zeros(1))
    monkeypatch.setattr(compiling, "PLAIN_SECONDS", 0.0)
    doubled(np.zeros(3), np.zeros(1))
    assert doubled.dispatcher.signatures


@pytest.mark.parametrize("dtype", [np.int64, np.dtype([("x", np.int64), ("y", np.int64)])])
def test_cached_loop_runs_compiled_over_few_events(doubled, monkeypatch, dtype) -> None:
    @compiling.compiled_beyond(3)
    def largest(records: Any) -> int:
        return doubled_by.size + records.size

    doubled_by = np.array([secrets.randbits(60)])
    records = np.zeros(2, dtype)
    records = records.view(np.recarray) if records.dtype.names else records
    monkeypatch.setattr(compiling, "PLAIN_SECONDS", 0.0)
    assert largest(records) == 3
    monkeypatch.setattr(compiling, "PLAIN_SECONDS", 3.0)
    again = compiling.compiled_beyond(3)(largest.py_func)
    assert not again._is_brief((records,))


def test_function_called_by_its_address_runs_plain_and_compiled(monkeypatch) -> None:
    new = secrets.randbits(40)

    @compiling.addressed("boolean(int64, CPointer(float64))", "FunctionType[bool(int64, float64*)]")
    def is_more(least, values):
        return values[0] > least

    def count(values: Any, decide: Any) -> int:
        return new + decide(1, values.ctypes) + decide(9, values.ctypes)

    values = np.full(3, 5.0)
    monkeypatch.setattr(compiling, "PLAIN_SECONDS", 3.0)
    loop: Any = compiling.compiled_beyond(3)(count)
    assert loop(values, is_more) == new + 1
    assert "dispatcher" not in vars(loop)
    assert "callback" not in vars(is_more)
    monkeypatch.setattr(compiling, "PLAIN_SECONDS", 0.0)
    assert loop(values, is_more) == new + 1
    assert repr(numba.typeof(is_more.callback)) == is_more.kind
    monkeypatch.setattr(compiling, "PLAIN_SECONDS", 3.0)
    again: Any = compiling.compiled_beyond(3)(count)
    assert not again._is_brief((values, is_more))


@pytest.mark.parametrize("condition", ["a.v < b.v", "a.v + c.v < b.v * 2"])
def test_first_match_search_over_few_events_runs_as_plain_python(condition, monkeypatch) -> None:
    rows = [(i, "ABC"[i % 3], float(i * 7 % 11)) for i in range(60)]
    frame = pd.DataFrame(rows, columns=["ts", "type", "v"])
    stream = cepkit.events(frame, time="ts", type="type", unit="s")
    pattern = f"PATTERN SEQ(A a, B b, C c) WHERE {condition} WITHIN 9 seconds "
    pattern += "STRATEGY skip-till-next-match"
    matches = cepkit.detect(stream, pattern).to_pandas()
    plain: Any = compiling.compiled_beyond(20_000)(detection.scan.py_func)
    monkeypatch.setattr(detection, "scan", plain)
    monkeypatch.setattr(compiled_loops.LoopCache, "has", lambda *_: False)
    monkeypatch.setattr(compiling, "PLAIN_SECONDS", 3.0)
    pd.testing.assert_frame_equal(cepkit.detect(stream, pattern).to_pandas(), matches)
    assert len(matches)
    assert "dispatcher" not in vars(plain)


WITHOUT_COMPILER = """
import json, pandas as pd, cepkit as ck

rows = [(i, "ABC"[i % 3], float(i * 7 % 11)) for i in range(60)]
frame = pd.DataFrame(rows, columns=["ts", "type", "v"])
stream = ck.events(frame, time="ts", type="type", unit="s")
numbers = []
for rest in ("", "STRATEGY skip-till-next-match", "STRATEGY strict-contiguity"):
    for text in (
        "SEQ(A a, B b, C c) WHERE a.v + c.v < b.v * 2 WITHIN 20 seconds",
        "SEQ(A a, B b, C c) WHERE a.v / b.v + c.v > 2 WITHIN 20 seconds",
        "SEQ(A a, NOT(B b), C c) WHERE b.v > a.v + c.v WITHIN 8 seconds",
        "SEQ(A a, KL(B b), C c) WHERE b.v > a.v AND avg(b.v) > c.v WITHIN 15 seconds",
    ):
        try:
            numbers.append(ck.detect(stream, f"PATTERN {text} {rest}").count())
        except ck.CepkitError as error:
            numbers.append(type(error).__name__)
counted = [
    "PATTERN SEQ(A a, B b, C c) WITHIN 20 seconds AGG COUNT",
    "PATTERN SEQ(B b, C c, A a) WITHIN 9 seconds AGG COUNT",
    "PATTERN SEQ(C c, A a, B b, C d) WITHIN 20 seconds AGG COUNT",
]
for share in ("none", "prefix", "chop-connect"):
    for one in ck.aggregate(stream, counted, share=share):
        numbers.append(float(one.to_pandas().iloc[:, -1].sum()))
print(json.dumps(numbers))
"""


@pytest.mark.slow
def test_loops_that_are_not_compiled_find_the_same(tmp_path: Path) -> None:
    """With NUMBA_DISABLE_JIT, as for a debugger or for coverage; and without Numba."""
    answers = [
        subprocess.run(
            [sys.executable, *options, "-W", "error", "-c", f"{first}\n{WITHOUT_COMPILER}"],
            env={**os.environ, **more},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for first, options, more in (
            ("", [], {}),
            ("", [], {"NUMBA_DISABLE_JIT": "1"}),
            ("import importlib.util as u; assert not u.find_spec('numba')", ["-S"],
             without(tmp_path, "numba", "llvmlite")),
        )
    ]  # fmt: skip
    assert answers[0] == answers[1] == answers[2]


INTERRUPTED = """import os, signal, sys
from cepkit.columnar.kernels.loops import counting_sort

class Interrupt:
    def find_spec(name, *_):
        if name == "yaml.cyaml":
            sys.meta_path.remove(Interrupt)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt)
try:
    counting_sort.dispatcher
except KeyboardInterrupt:
    print("interrupted")
print(counting_sort.dispatcher.py_func.__name__)
"""


def test_numba_is_whole_after_an_interrupt_of_its_import():
    pytest.importorskip("yaml", reason="Numba imports it if it is there")
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == ["interrupted", "counting_sort"], ran.stderr


def test_numba_settings_come_from_the_environment_during_an_import(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", ModuleType("numba"))  # without its configuration yet
    monkeypatch.setenv("NUMBA_CACHE_DIR", "here")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert caches.numba_setting("CACHE_DIR") == "here"
    assert compiling.is_interpreted()
    monkeypatch.delenv("NUMBA_DISABLE_JIT")
    assert not compiling.is_interpreted()
