"""The same answers in a browser: under Pyodide, which is a machine of 32 bits without Numba.

`PYODIDE` names its folder: that of a release, or of the package `pyodide` of npm with the wheel of
NumPy that belongs to it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cepkit
from cepkit.diagnosis.partials import KeyIndex
from cepkit.indexing import bin_counts, reduced, repeated
from cepkit.statistics.measuring.lookups import Scope
from cepkit.statistics.measuring.sampling import Pairs
from cepkit.stream.columns import Column
from tests.unit.test_python_arrow import ANSWERS, answers

FOLDER = Path(os.environ.get("PYODIDE", "missing"))
PURE = ("lark", "networkx", "plotly", "narwhals", "packaging", "tqdm", "tzdata")
RUNNER = Path(__file__).parents[1] / "pyodide.mjs"


def folders(package: str) -> set[Path]:
    """Return the folders that an installed package has."""
    files = distribution(package).files or []
    tops = {distribution(package).locate_file(file.parts[0]) for file in files}
    return {top for top in map(Path, tops) if top.is_dir() and top.name not in ("bin", "..")}


def rounded(text: str) -> str:
    """Return a text with floats of 12 digits: logarithms of WebAssembly differ in the last ones."""
    return re.sub(r"\d+\.\d{6,}", lambda number: f"{float(number[0]):.12g}", text)


@pytest.mark.slow
@pytest.mark.skipif(not (FOLDER / "pyodide.mjs").exists(), reason="PYODIDE names no distribution")
@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_answers_under_pyodide_are_the_same(tmp_path: Path, record_property) -> None:
    script = tmp_path / "answers.py"
    script.write_text(ANSWERS)
    packages = {Path(cepkit.__file__).parent}.union(*map(folders, PURE))
    done = subprocess.run(
        ["node", RUNNER, FOLDER, next(FOLDER.glob("numpy-*.whl")), script, *sorted(packages)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-2000:]
    record_property("versions", done.stderr.splitlines()[-1])
    print(done.stderr)
    here, _ = answers("-W", "ignore")
    assert rounded(done.stdout) == rounded(here)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_repeated_and_reduced_take_numbers_of_any_width(dtype) -> None:
    numbers = np.array([2, 0, 1], dtype)
    assert repeated(np.array([5, 6, 7]), numbers).tolist() == [5, 5, 7]
    assert reduced(np.add, np.arange(4), np.array([0, 3], dtype)).tolist() == [3, 3]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("minlength", [0, 4])
def test_numbers_of_any_width_are_counted_as_the_machines_own(
    dtype, minlength, monkeypatch
) -> None:
    count = np.bincount

    def strict(values, minlength):
        assert values.dtype == np.intp
        return count(values, minlength=minlength)

    monkeypatch.setattr(np, "bincount", strict)
    counts = bin_counts(np.array([2, 0, 2], dtype), minlength)
    assert counts.tolist() == [1, 0, 2, 0][: max(3, minlength)]
    assert counts.dtype == np.int64


class Strict(np.ndarray):
    """As NumPy 2.0 is: it takes from places of its own width, and refuses wider ones."""

    def take(self, places, axis=None):
        assert places.dtype == np.intp
        return super().take(places, axis)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
def test_column_takes_rows_of_any_width(dtype) -> None:
    column = Column("integer", np.array([5, 6, 7]).view(Strict))
    assert column.take(np.array([2, 0], dtype)).values.tolist() == [7, 5]


class Narrow(np.ndarray):
    """As on a machine of 32 bits: sums of 32-bit numbers wrap, unless asked to be wider."""

    def sum(self, axis=None, dtype=None, out=None, **more):
        return np.asarray(self).sum(axis, dtype or np.int32, out, **more)

    def cumsum(self, axis=None, dtype=None, out=None):
        return np.asarray(self).cumsum(axis, dtype or np.int32, out)


def test_numbers_of_pairs_pass_32_bits() -> None:
    begins = np.zeros(3, np.int32).view(Narrow)
    widths = np.full(3, 2**30, np.int32).view(Narrow)
    assert Scope("b", {}, begins, begins, widths).size == 3 * 2**30
    ranges = SimpleNamespace(of=lambda *_: (begins, widths, begins))
    assert Pairs.of(ranges, ["a", "b"], begins, begins).number == 3 * 2**30


def test_keys_and_events_of_32_bits_are_ordered_where_their_product_is_wider() -> None:
    number = 70_000
    codes = (np.arange(number, dtype=np.int32) % 2) * np.int32(number - 1)
    index = KeyIndex(codes, np.arange(number, dtype=np.int32))
    begin, end = index.ranges(np.array([1]), np.array([0]), np.array([10]))
    assert index.order[begin[0] : end[0]].tolist() == [1, 3, 5, 7, 9]
