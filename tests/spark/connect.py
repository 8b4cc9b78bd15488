"""The batch tests over Spark Connect, on the server of pip's pyspark: `make connect-test`.

    python -m tests.spark.connect [pytest's arguments]

The client needs what `pip install 'pyspark[connect]'` brings; the server's workers do not get it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkAttributeError

from cepkit.spark.session.local import local_settings
from tests.spark.cluster import end_in_order, java_home, spark_home, started
from tests.spark.kills import kill, tree

FILES = (
    "test_aggregate_on_spark",
    "test_batch_matches",
    "test_batch_result",
    "test_batch_times",
    "test_fetched",
    "test_numbering",
    "test_over_connect",
    "test_profile",
    "test_profile_on_spark",
    "test_several_matches",
    "test_several_on_spark",
    "test_why_not_on_spark",
)
_TESTS = Path(__file__).parent
_PORT = 15_102
_OF_FILES = (
    "test_files_are_read_by_the_tasks",
    "test_tasks_that_read_parquet_files_find_the_judges_matches",
)


class SkipsWhatAsksTheJvm:
    """Skips, as a plugin of pytest, tests that ask the JVM, which only a classic session has."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Skip tests of tasks that read files: the client cannot see the files of a DataFrame."""
        for item in items:
            if item.name in _OF_FILES:
                item.add_marker(pytest.mark.skip(reason="a client does not know the files"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Run a test."""
        try:
            return (yield)
        except PySparkAttributeError as error:
            files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
            asking = next(file for file in reversed(files) if "pyspark" not in file.parts)
            if asking.is_relative_to(_TESTS):
                pytest.skip("it asks the JVM itself")
            raise


def main() -> int:
    """Start a server, and run the tests in a process that knows no other session."""
    if sys.argv[1:2] == ["--client"]:
        return int(pytest.main(["-q", *sys.argv[2:]], plugins=[SkipsWhatAsksTheJvm()]))
    end_in_order()
    with tempfile.TemporaryDirectory(prefix="cepkit-connect-") as name, java_home() as java:
        log = Path(name) / "server.log"
        server, _ = started(_command(), log, r"server started", _environment(java))
        try:
            remote = os.environ | {"SPARK_REMOTE": f"sc://127.0.0.1:{_PORT}"}
            command = [sys.executable, "-m", "tests.spark.connect", "--client", *sys.argv[1:]]
            if not any(Path(argument.partition("::")[0]).is_file() for argument in sys.argv[1:]):
                command += [str(_TESTS / f"{file}.py") for file in FILES]
            return subprocess.run(command, env=remote, check=False).returncode
        finally:
            kill(tree(server.pid))


def _command() -> list[str]:
    command = [str(spark_home() / "bin" / "spark-submit")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    settings = local_settings(2, "1g") | {
        "spark.connect.grpc.binding.port": str(_PORT),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    del settings["spark.driver.extraJavaOptions"]  # its log says when it is there
    for setting, value in settings.items():
        command += ["--conf", f"{setting}={value}"]
    return [*command, "spark-internal"]


def _environment(java: Path) -> dict[str, str]:
    root = str(_TESTS.parents[1])
    return os.environ | {
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": sys.executable,
        # cepkit, and the functions of tests; not what the client alone needs.
        "PYTHONPATH": root,
    }


if __name__ == "__main__":
    sys.exit(main())
