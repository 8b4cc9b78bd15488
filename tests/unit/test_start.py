"""The imports of a first detection: slow packages only where they are needed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepkit import native_loops
from cepkit.lazy import loading

DETECT = """
import sys
import cepkit as ck
stream = ck.events(sys.argv[1], time="ts", type="type")
any_of = "a.x * b.x < c.x OR b.x = 5"
for condition in ("a.x < b.x AND a.x < c.x", "a.k = b.k AND b.k = c.k", any_of):
    pattern = f"PATTERN SEQ(A a, B b, C c) WHERE {condition} WITHIN 5 minutes"
    assert ck.detect(stream, pattern).count() == 1, condition
counted = ck.aggregate(stream, "PATTERN SEQ(A a, B b) WITHIN 5 minutes AGG COUNT", emit="total")
assert counted.to_arrow().column("count").to_pylist() == [1]
heavy = {"numba", "pandas", "networkx", "plotly", "pyspark", "IPython"}
heavy |= {"pyarrow.compute", "pyarrow.dataset"}
heavy |= {"cepkit.sharing", "cepkit.columnar.skip_till_next.detection", "cepkit.statistics.saved"}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.skipif(
    not native_loops.is_tested(native_loops.numba_version()),
    reason="loops of this release of Numba are its own",
)
@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 22, reason="older releases of PyArrow import pandas"
)
def test_a_count_of_a_parquet_file_imports_little_once_its_loops_are_compiled(
    tmp_path: Path,
) -> None:
    table = {"ts": [1, 2, 3], "type": ["A", "B", "C"], "x": [1.0, 5.0, 2.0], "k": [7.5, 7.5, 7.5]}
    events = pa.table(table).set_column(0, "ts", pa.array(table["ts"], pa.timestamp("us")))
    pq.write_table(events, tmp_path / "events.parquet")
    imported(DETECT, str(tmp_path / "events.parquet"))
    assert imported(DETECT, str(tmp_path / "events.parquet")) == "[]"


def test_importing_cepkit_loads_no_heavy_package() -> None:
    heavy = "{'numpy', 'pandas', 'numba', 'pyarrow', 'networkx', 'lark', 'plotly', 'pyspark'}"
    assert imported(f"import sys, cepkit; print(sorted({heavy} & set(sys.modules)))") == "[]"


_NUMBA_S = {name for name in os.environ if name.startswith("NUMBA_")} - {"NUMBA_CACHE_DIR"}
"""Numba that is set otherwise is imported to be asked."""


def imported(code: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={name: value for name, value in os.environ.items() if name not in _NUMBA_S},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_after_loading_garbage_is_looked_for_as_before() -> None:
    try:
        for collected in (True, False):
            (gc.enable if collected else gc.disable)()
            with suppress(ImportError), loading(), loading():
                assert not gc.isenabled()
                raise ImportError
            assert gc.isenabled() == collected
    finally:
        gc.enable()


def test_what_was_loaded_counts_as_old_unless_the_caller_freezes() -> None:
    loaded = "import gc; from cepkit.lazy import loading\n{}"
    loaded += "with loading(): held = [[] for _ in range(9000)]\n"
    told = "print(len(gc.get_objects(0)) + len(gc.get_objects(1)) < 900, gc.get_freeze_count() > 0)"
    assert imported(loaded.format("") + told) == "True False"
    assert imported(loaded.format("gc.freeze()\n") + told) == "False True"
