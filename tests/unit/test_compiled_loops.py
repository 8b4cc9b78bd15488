"""Compiled loops on disk: damaged, planted, without a folder, written by several at once."""

from __future__ import annotations

import os
import pickle
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import cepkit
from cepkit.caches import CacheWarning, digest
from cepkit.columnar.join.generated import load
from cepkit.compiled_loops import _sources
from cepkit.compiling import compiled
from tests.unprivileged import NOBODY, python_as_nobody

as_root = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only root can give files to another user"
)


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


class Turned(NamedTuple):
    """The same types under the same names, in another order."""

    right: np.ndarray
    left: np.ndarray


Turned.__name__ = "Pair"


def lefts(pair: Pair) -> int:
    return pair.left[0]


def doubled(x: int) -> int:
    return 2 * x


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where loops are kept."""
    folder = tmp_path / "kept"
    monkeypatch.setattr("numba.config.CACHE_DIR", str(folder))
    return folder


def run(function: Callable[..., Any], argument: Any, expected: Any) -> str:
    """Run a function as a new process would, and say where its loop came from."""
    loop: Any = compiled(function)
    assert loop(argument) == expected
    return "disk" if loop.stats.cache_hits else "compiler"


def only_file(folder: Path) -> Path:
    [path] = folder.iterdir()
    return path


def plus(more: int) -> Callable[[int], int]:
    def sum_of(x: int) -> int:
        return x + more

    return sum_of


TABLE = np.arange(2000)


def looked_up(x: int) -> int:
    return TABLE[x]


class TestChanges:
    def test_a_loop_is_compiled_again_where_fields_have_changed_places(self, kept: Path) -> None:
        one, other = np.array([1]), np.array([2])
        assert run(lefts, Pair(left=one, right=other), 1) == "compiler"
        assert run(lefts, Pair(left=one, right=other), 1) == "disk"
        assert run(lefts, Turned(left=one, right=other), 1) == "compiler"

    def test_loop_is_compiled_again_for_another_closure_value(self, kept: Path) -> None:
        assert run(plus(1), 5, 6) == "compiler"
        assert run(plus(2), 5, 7) == "compiler"
        assert run(plus(2), 5, 7) == "disk"

    def test_a_loop_is_compiled_again_where_one_number_of_a_table_has_changed(
        self, kept: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert run(looked_up, 1000, 1000) == "compiler"
        changed = TABLE.copy()
        changed[1000] = 7
        monkeypatch.setitem(looked_up.__globals__, "TABLE", changed)
        assert run(looked_up, 1000, 7) == "compiler"
        assert run(looked_up, 1000, 7) == "disk"


class TestDamage:
    @pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 100, 0.5, -1])
    def test_a_loop_that_was_cut_is_compiled_again(self, kept: Path, length: float) -> None:
        assert run(doubled, 3, 6) == "compiler"
        whole = only_file(kept).read_bytes()
        only_file(kept).write_bytes(whole[: int(length * len(whole)) if length == 0.5 else length])
        assert run(doubled, 3, 6) == "compiler"
        assert run(doubled, 3, 6) == "disk"

    @pytest.mark.parametrize("place", [0, 40, 0.5, -1])
    def test_a_loop_of_which_one_bit_is_wrong_is_compiled_again(
        self, kept: Path, place: float
    ) -> None:
        assert run(doubled, 3, 6) == "compiler"
        content = bytearray(only_file(kept).read_bytes())
        content[int(place * len(content)) if place == 0.5 else int(place)] ^= 1
        only_file(kept).write_bytes(content)
        assert run(doubled, 3, 6) == "compiler"

    def test_zeros_and_noise_are_no_loop(self, kept: Path) -> None:
        assert run(doubled, 3, 6) == "compiler"
        size = only_file(kept).stat().st_size
        for content in (bytes(size), os.urandom(size), pickle.dumps([1, 2, 3])):
            only_file(kept).write_bytes(content)
            assert run(doubled, 3, 6) == "compiler"

    def test_file_of_another_loop_is_not_loaded(self, kept: Path) -> None:
        assert run(doubled, 3, 6) == "compiler"
        integer = only_file(kept)
        assert run(doubled, 1.5, 3.0) == "compiler"
        [floating] = set(kept.iterdir()) - {integer}
        shutil.copy(integer, floating)
        assert run(doubled, 1.5, 3.0) == "compiler"


class Shout:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


def own(folder: Path, planted: Path) -> None:
    """Leave it as it is: who may write there may run code, which is what the others must not."""


def foreign_folder(folder: Path, planted: Path) -> None:
    os.chown(folder, NOBODY, NOBODY)


def foreign_file(folder: Path, planted: Path) -> None:
    os.chown(planted, NOBODY, NOBODY)


def open_folder(folder: Path, planted: Path) -> None:
    folder.chmod(0o777)


def open_file(folder: Path, planted: Path) -> None:
    planted.chmod(0o666)


class TestPlantedCode:
    @pytest.mark.parametrize(
        ("give", "runs"),
        [
            (own, True),
            pytest.param(foreign_folder, False, marks=as_root),
            pytest.param(foreign_file, False, marks=as_root),
            (open_folder, False),
            (open_file, False),
        ],
    )
    def test_files_that_others_could_write_are_not_unpickled(
        self,
        kept: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        give: Callable[[Path, Path], None],
        runs: bool,
    ) -> None:
        """The planted file is a good one: its name and its digest are no secrets."""
        from numba import int64
        from numba.core.registry import cpu_target

        from cepkit.compiled_loops import LoopCache, _kinds

        assert run(doubled, 3, 6) == "compiler"
        planted, marker = only_file(kept), tmp_path / "marker"
        machine = cpu_target.target_context.codegen().magic_tuple()
        name, made_of = LoopCache(compiled(doubled))._name_and_parts(_kinds((int64,)), machine)
        assert planted.name == name
        evil = bytes(8) + pickle.dumps([Shout(marker)])
        planted.write_bytes(digest(made_of, evil) + evil)
        give(kept, planted)
        if runs:
            with pytest.raises(TypeError):
                run(doubled, 3, 6)
        elif give in (open_file, foreign_file):
            assert run(doubled, 3, 6) == "compiler"
            assert run(doubled, 3, 6) == "disk", "the file is replaced"
        else:
            monkeypatch.setattr("cepkit.caches._warned", bytearray(1))
            with pytest.warns(CacheWarning, match=f"{kept} (belongs to another|can be written by)"):
                assert run(doubled, 3, 6) == "compiler"
        assert marker.exists() == runs

    def test_generated_source_is_never_read_from_disk(self, tmp_path: Path) -> None:
        """Once it was, and the bytecode beside it, in folders that can be foretold."""
        name = load("def join():\n    return 1, 1\n").__name__
        answer = subprocess.run(
            [sys.executable, "-c", PLANTED.format(name=name, marker=str(tmp_path / "marker"))],
            env={**environment(tmp_path / "cache"), "TMPDIR": str(tmp_path)},
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        )
        assert answer.stdout.split() == ["3", "(1,", "1)"]
        assert not (tmp_path / "marker").exists()


PLANTED = """
import os, py_compile, sys
from pathlib import Path

name, planted = "{name}", []
for folder in ("cache/cepkit/loops", f"cepkit-{{os.getpid()}}/loops", "."):
    source = Path(folder, name + ".py")
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("import os; os.mkdir({marker!r})")
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    planted.append(py_compile.compile(str(source), invalidation_mode=mode))
print(len(planted))

from cepkit.columnar.join.generated import load
print(load("def join():\\n    return 1, 1\\n").join())
"""


DETECT = """
import gc
import pyarrow as pa
from numba.core.dispatcher import Dispatcher

from cepkit.columnar.join import step
from cepkit.columnar.results.matches import Matches
from cepkit.compiled_loops import LoopCache
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import events

table = pa.table({"t": range(60), "kind": ["A", "B", "C"] * 20, "x": range(60)})
query = parse("PATTERN SEQ(A a, B b) WHERE a.x + b.x < 60 OR a.x * b.x > 2000 WITHIN 9 seconds")
stream = events(table, time="t", type="kind", unit="s")
step.GENERATE_AFTER = 0  # the join is written at once
found = Matches(stream, query, as_plan(None, query)).count()
loops = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
ours = [one for one in loops if isinstance(one._cache, LoopCache)]
compiled = sum(sum(one.stats.cache_misses.values()) for one in ours)
print(found, compiled, any(one.__module__.startswith("cepkit_loop") for one in ours))
"""
FOUND = sum(
    a + b < 60 or a * b > 2000 for a in range(0, 60, 3) for b in range(1, 60, 3) if a < b <= a + 9
)


def environment(home: Path, **others: str) -> dict[str, str]:
    """Return an environment in which the user's cache lies in a folder."""
    unset = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    search = os.pathsep.join([str(Path(cepkit.__file__).parent.parent), *sys.path])
    return {"PYTHONPATH": search, **kept, "XDG_CACHE_HOME": str(home), **others}


def compiled_by(answer: str) -> int:
    """Return how many loops a process compiled; check that its results are right."""
    found, number, generated = answer.split()
    assert (int(found), generated) == (FOUND, "True")
    return int(number)


def start(**where: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DETECT]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **where
    )


def finish(process: subprocess.Popen[str]) -> int:
    output, errors = process.communicate(timeout=300)
    assert errors == ""
    assert process.returncode == 0
    return compiled_by(output)


@pytest.mark.slow
def test_damaged_files_are_written_anew_by_processes_that_start_at_once(tmp_path: Path) -> None:
    """First there is no folder, then all files in it are damaged, each in another way."""
    folder = tmp_path / "loops"
    env = environment(tmp_path, NUMBA_CACHE_DIR=str(folder))

    def run_at_once() -> int:
        """Return how many loops several processes have compiled."""
        return sum([finish(process) for process in [start(env=env) for _ in range(2)]])

    compiled_first = run_at_once()
    files = sorted(folder.glob("*.nbc"))
    assert len(files) <= compiled_first <= 2 * len(files)
    for number, path in enumerate(files):
        whole = path.read_bytes()
        half = len(whole) // 2
        ways = (whole[:half], os.urandom(len(whole)), b"", whole[:half] + bytes(half), whole[:20])
        path.write_bytes(ways[number % len(ways)])
    assert run_at_once() >= len(files)
    assert sorted(folder.glob("*.nbc")) == files
    assert finish(start(env=env)) == 0


@pytest.mark.slow
class TestNowhereToKeep:
    @pytest.fixture
    def package(self, tmp_path: Path) -> Path:
        """A fresh installation in a folder that one user can write to."""
        home = tmp_path / "site-packages"
        shutil.copytree(
            Path(cepkit.__file__).parent,
            home / "cepkit",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        return home

    def run(
        self, python: list[str], package: Path, folder: Path, **others: str
    ) -> subprocess.CompletedProcess[str]:
        search = os.pathsep.join([str(package), *sys.path])
        env = environment(folder / "nowhere", HOME=str(folder / "nowhere"), PYTHONPATH=search)
        return subprocess.run(
            [*python, "-c", DETECT],
            env={**env, **others},
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
        )

    def test_package_without_writable_folders_starts_with_one_warning(
        self, package: Path, tmp_path: Path
    ) -> None:
        answer = self.run(python_as_nobody(), package, tmp_path)
        assert answer.returncode == 0, answer.stderr
        assert compiled_by(answer.stdout) >= 3
        assert answer.stderr.count("CacheWarning") == 1
        assert "nowhere/cepkit/loops: Permission denied" in answer.stderr
        assert "Hint: set NUMBA_CACHE_DIR to a folder of your own" in answer.stderr
        assert not (tmp_path / "nowhere").exists()

    @pytest.mark.slow
    def test_a_folder_that_the_user_names_is_used_wherever_the_package_lies(
        self, package: Path, tmp_path: Path
    ) -> None:
        archive = Path(shutil.make_archive(str(tmp_path / "sent"), "zip", package, "cepkit"))
        folder = tmp_path / "own"
        folder.mkdir()
        named = {"NUMBA_CACHE_DIR": str(folder)}
        python = python_as_nobody()
        os.chown(folder, NOBODY, NOBODY)
        # As Spark's workers have it of --py-files, in another place for each application.
        first, second = (self.run(python, path, tmp_path, **named) for path in (package, archive))
        assert first.stderr == second.stderr == ""
        assert compiled_by(first.stdout) >= 3
        assert compiled_by(second.stdout) == 0

    @pytest.mark.slow
    def test_loops_compiled_by_root_serve_other_users(self, package: Path, tmp_path: Path) -> None:
        python = python_as_nobody()
        for folder in [each.parent for each in package.rglob("__init__.py")]:
            (folder / "__pycache__").mkdir()
        named = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        by_root = self.run([sys.executable], package, tmp_path, **named)
        assert compiled_by(by_root.stdout) >= 3
        by_other = self.run(python, package, tmp_path)
        assert compiled_by(by_other.stdout) == 1, "the generated loop stands beside no file"


def test_a_loop_in_another_module_has_other_sources() -> None:
    """Numba imports the modules of a loop's functions when it loads the loop."""

    def helper(x: int) -> int:
        return x + 1

    def sources(module: str) -> list[Any]:
        inner = FunctionType(helper.__code__, {})
        inner.__module__ = module
        names = {"helper": SimpleNamespace(py_func=inner, targetoptions={})}
        outer = FunctionType(compile("lambda x: helper(x)", "", "eval").co_consts[0], names)
        return _sources(SimpleNamespace(py_func=outer, targetoptions={}))

    assert sources("one") == sources("one")
    assert sources("one") != sources("other")


def test_interrupt_lost_by_llvm_stops_the_call_and_not_the_next_one(monkeypatch) -> None:
    from numba.core.codegen import CodeLibrary

    new = secrets.randbits(60)

    @compiled
    def loop(values: Any) -> int:
        return new + values.size

    def without_code(library: Any) -> Any:
        library._compiled_object = None
        return library

    with monkeypatch.context() as patch:
        # An exception in LLVM's callback is ignored, and the library stays without its code.
        real = CodeLibrary._get_compiled_object
        patch.setattr(CodeLibrary, "_get_compiled_object", lambda self: real(without_code(self)))
        with pytest.raises(KeyboardInterrupt):
            loop(np.zeros(2))
    assert loop(np.zeros(2)) == new + 2


LOOPS = """
import importlib, pkgutil
import cepkit
from cepkit.compiled_loops import _sources

for package in ("columnar", "aggregation", "planners"):
    for module in pkgutil.walk_packages([f"{cepkit.__path__[0]}/{package}"], f"cepkit.{package}."):
        names = vars(importlib.import_module(module.name))
        for name, value in sorted(names.items()):
            if hasattr(value, "targetoptions"):
                print(module.name, name, _sources(value))
"""


@pytest.mark.slow
def test_every_loop_has_the_same_sources_in_all_processes() -> None:
    """Or it would be compiled by each of them."""
    one, other = (
        subprocess.run(
            [sys.executable, "-c", LOOPS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert one.count("\n") > 80
    assert one == other


def test_a_loop_of_a_class_that_has_moved_is_compiled_anew(kept, monkeypatch):
    run(doubled, 3, 6)

    def moved(_: bytes) -> Any:
        raise AttributeError("Can't get attribute 'Numbers'")

    with monkeypatch.context() as patch:
        patch.setattr(pickle, "loads", moved)
        assert run(doubled, 3, 6) == "compiler"
