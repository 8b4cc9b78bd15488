"""Workers end quietly when nobody reads, and do not look at all modules after each task."""

from __future__ import annotations

import gc
import subprocess
import sys
from types import ModuleType

import pytest

from cepkit.spark.session.daemon import polite


@pytest.fixture(autouse=True)
def _thawed():
    yield
    gc.unfreeze()


def test_a_reader_that_left_is_no_news(capfd):
    def work(_, __):
        raise BrokenPipeError

    assert polite(work)(None, True) == 1
    assert capfd.readouterr().err == ""


def test_worker_raises_errors_other_than_a_broken_pipe():
    def work(_, __):
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        polite(work)(None, True)


def test_modules_are_set_aside_once(monkeypatch):
    worker = polite(lambda _, __: 0)
    assert worker(None, True) == 0
    aside = gc.get_freeze_count()
    assert aside > 10_000
    more = [[] for _ in range(100_000)]
    worker(None, True)
    assert gc.get_freeze_count() <= aside
    monkeypatch.setitem(sys.modules, "a new module", ModuleType("a new module"))
    worker(None, True)
    assert gc.get_freeze_count() > aside + len(more) - 1000


PREPARED = """
import os, sys
from cepkit.spark.session.daemon import prepare
prepare()
print(sorted({"pyspark.worker", "pandas", "pyarrow", "cepkit.columnar.run"} - set(sys.modules)))
sys.stdout.flush()
child = os.fork()
if not child:
    import numpy as np, pyarrow as pa, pyarrow.compute as pc
    square = np.ones((300, 300)) @ np.ones((300, 300))  # with the threads of NumPy
    table = pa.table({str(n): np.arange(100_000) for n in range(8)})
    frame = table.to_pandas(use_threads=True)  # with those of Arrow
    os._exit(0 if square[0, 0] == 300 and frame["7"].sum() == pc.sum(table["7"]).as_py() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="nothing is imported elsewhere")
def test_workers_are_forked_with_all_that_they_need():
    answer = subprocess.run(
        [sys.executable, "-c", PREPARED], capture_output=True, text=True, check=True, timeout=600
    )
    assert answer.stdout.split() == ["[]", "0"]
