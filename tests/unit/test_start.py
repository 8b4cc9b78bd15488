"""What a first detection imports: what takes long is imported where it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DETECT = """
import sys
class NoPandas:  # Arrow imports it where there is one, and does without
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPandas())
import cepkit as ck
stream = ck.events(sys.argv[1], time="ts", type="type")
pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND a.x < c.x WITHIN 5 minutes"
assert ck.detect(stream, pattern).count() == 1
print(sorted({"networkx", "plotly", "pyspark", "IPython"} & set(sys.modules)))
"""


def test_a_detection_without_keys_from_parquet_needs_no_pandas_networkx_plotly_or_pyspark(
    tmp_path: Path,
) -> None:
    table = {"ts": [1, 2, 3], "type": ["A", "B", "C"], "x": [1.0, 5.0, 2.0]}
    events = pa.table(table).set_column(0, "ts", pa.array(table["ts"], pa.timestamp("us")))
    pq.write_table(events, tmp_path / "events.parquet")
    assert imported(DETECT, str(tmp_path / "events.parquet")) == "[]"


def test_cepkit_alone_imports_next_to_nothing() -> None:
    heavy = "{'numpy', 'pandas', 'numba', 'pyarrow', 'networkx', 'lark', 'plotly', 'pyspark'}"
    assert imported(f"import sys, cepkit; print(sorted({heavy} & set(sys.modules)))") == "[]"


def imported(code: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()
