"""The benchmarks run; what they measure stands in docs/benchmarks.md."""

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("engine", ["--events", "20000"]),
        ("operators", ["--events", "20000"]),
        ("peers", ["--events", "20000", "--runs", "1"]),
        ("aggregation", ["--events", "5000", "--only", "keys"]),
        ("planning", ["--small"]),
    ],
)
def test_a_benchmark_runs_and_writes_its_tables(name, options, tmp_path):
    command = [sys.executable, "-m", f"benchmarks.{name}", *options, "--out", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    tables = sorted(tmp_path.glob("*.csv"))
    assert tables
    assert all(len(table.read_text().splitlines()) > 1 for table in tables)
