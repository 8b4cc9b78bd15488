"""A cluster finds the matches of this process, also when a worker dies: `make cluster-test`.

    python -m tests.spark.cluster [--events 400000] [--seed 1] [KIND ...]

One master and two workers of pip's pyspark on loopback. Neither the driver nor the workers have
cepkit: `spark-submit --py-files` brings it to them as a zip. In the middle of each search a worker
is killed with SIGKILL, its executor and its Python workers with it, and a new one started. Linux
only: it reads /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

import cepkit as ck
from cepkit.spark.fetching import LIMIT
from tests.spark.kills import kill, tree
from tests.spark.live import KEYED, make_events

SEQUENCE = "PATTERN SEQ(A a, B b, C c)"
BY_PRICE = "a.price + 30 < b.price AND b.price < c.price"
KINDS = {
    "keyed": f"{SEQUENCE} WHERE {BY_PRICE} AND {KEYED} WITHIN 2 seconds",
    "un-keyed": f"{SEQUENCE} WHERE {BY_PRICE} WITHIN 60 milliseconds",
    "files": f"{SEQUENCE} WHERE {BY_PRICE} WITHIN 60 milliseconds",
    "NOT at the end": f"PATTERN SEQ(A a, B b, NOT(C c)) WHERE {KEYED} WITHIN 2 seconds",
    "window in events": "PATTERN SEQ(A a, NOT(B b), C c) WITHIN 8 EVENTS PARTITION BY key",
    "aggregate": f"{SEQUENCE} WHERE {KEYED} WITHIN 2 seconds AGG COUNT, MAX(c.price) GROUP BY key",
}
"""The patterns; the tasks of "files" read their row groups, all others go through Spark."""

_STARTS_IN = 120.0


def job(folder: Path, kinds: list[str]) -> None:
    """Search on the cluster and in this process, and compare; spark-submit runs this."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set(LIMIT, "0")  # or all of it would be found in this process
    places = {ck.__file__, *_imported_by_workers(spark)}
    assert all(".zip" in place for place in places), f"not the cepkit that was sent: {places}"
    events = ck.events(str(folder / "events.parquet"), time="ts", type="type")
    for kind in kinds:
        expected = rows_of(kind, events)
        frame = spark.read.parquet(str(folder / "events.parquet"))
        if kind != "files":
            frame = frame.where("id >= 0").repartition(16)
            if kind == "window in events":  # in the order of the rows, which a shuffle loses
                frame = frame.orderBy("ts").sortWithinPartitions("ts")
        stream = ck.events(frame, time="ts", type="type")
        outcome: dict[str, Any] = {}

        def search(kind: str = kind, stream: Any = stream, into: Any = outcome) -> None:
            try:
                into["rows"] = rows_of(kind, stream)
            except BaseException as error:
                into["error"] = error
                raise

        searching = threading.Thread(target=search)
        searching.start()
        while searching.is_alive() and not _in_the_middle(spark):
            time.sleep(0.01)
        print(f"RUNNING {kind}", flush=True)
        searching.join()
        if "error" in outcome:
            print(f"FAILED {kind}", flush=True)
            continue
        rows = outcome["rows"]
        same = np.array_equal(rows, expected, equal_nan=True)
        print(
            f"{'SAME' if same else 'OTHER'} {kind}: {len(rows):,} of {len(expected):,}", flush=True
        )
    spark.stop()


def _imported_by_workers(spark: Any) -> set[str]:
    """Return where workers have cepkit from."""

    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import cepkit

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"file": [cepkit.__file__]})

    return {row.file for row in spark.range(0, 4, 1, 4).mapInArrow(where, "file string").collect()}


def _in_the_middle(spark: Any) -> bool:
    """Return whether some tasks of a stage are done and others are not."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return any(stage and 0 < stage.numCompletedTasks < stage.numTasks for stage in stages)


def rows_of(kind: str, stream: Any) -> np.ndarray[Any, Any]:
    """Return the matches as sorted rows of numbers."""
    in_spark = stream.place == "spark"
    text = KINDS[kind]
    if kind == "aggregate":
        found = ck.aggregate(stream, text)
        table = found.toArrow() if in_spark else found.to_arrow()
        table = table.set_column(0, "ts", table.column("ts").cast(pa.int64()))
        numbers = [each.to_numpy() for each in table.columns]
    else:
        plan = ck.choose_plan(ck.parse(text), ck.profile(stream, text))
        found = ck.detect(stream, text, plan)
        table = found.toArrow() if in_spark else found.to_arrow()
        variables = [name for name in table.column_names if not name.startswith("match_")]
        numbers = [table.column(name).combine_chunks().field("id").to_numpy() for name in variables]
    rows = np.stack([each.astype(np.float64) for each in numbers], axis=1)
    return rows[np.lexsort(rows.T)]


@dataclass
class Cluster:
    """A master and its workers.

    Attributes:
        folder: Where their files are.
        java: What runs them.
        python: What runs Python workers.
        address: The master's.
        workers: The workers' processes.
    """

    folder: Path
    java: Path
    python: Path
    address: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: int = 0

    def start_worker(self) -> None:
        """Start a worker of one core."""
        self.started += 1
        work = self.folder / f"worker-{self.started}"
        arguments = ["--cores", "1", "--memory", "1g", "--work-dir", str(work), self.address]
        process, _ = self._start("worker.Worker", arguments, r"Successfully registered with master")
        self.workers.append(process)

    def kill_worker(self, place: int) -> None:
        """Kill a worker and all that it has started, as if its machine were gone."""
        process = self.workers.pop(place)
        kill(tree(process.pid))
        process.wait()

    def _start(
        self, name: str, arguments: list[str], ready: str
    ) -> tuple[subprocess.Popen[bytes], re.Match[str]]:
        log = self.folder / f"{name}-{self.started}.log"
        command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
        command += ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments]
        return started(command, log, ready, self.environment)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of all processes."""
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_MASTER")}
        return kept | {
            "JAVA_HOME": str(self.java),
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": str(self.python),
            "PYSPARK_DRIVER_PYTHON": str(self.python),
        }


def started(
    command: list[str], log: Path, ready: str, environment: dict[str, str]
) -> tuple[subprocess.Popen[bytes], re.Match[str]]:
    """Start a process of Spark's; return it with the line of its log that says it is ready."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, cwd=log.parent
        )
    until = time.monotonic() + _STARTS_IN
    while time.monotonic() < until and process.poll() is None:
        if said := re.search(ready, log.read_text()):
            return process, said
        time.sleep(0.05)
    kill(tree(process.pid))
    raise RuntimeError(f"{command} did not start:\n{log.read_text()[-3_000:]}")


@contextlib.contextmanager
def java_home() -> Iterator[Path]:
    """Give a Java that Spark's own scripts can start."""
    from cepkit.spark.session.java import find_java
    from cepkit.spark.session.local import spark_java_home

    with spark_java_home(find_java()) as java:
        yield java


def end_in_order() -> None:
    """End with all that was started when this process is to end, as by `timeout`."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def spark_home() -> Path:
    """Return where pip has put Spark."""
    return Path(pyspark.__file__).parent


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Give a running cluster of this machine."""
    with java_home() as java:
        running = Cluster(folder, java, python_without_cepkit(folder / "python"))
        master, said = running._start(
            "master.Master", [], r"Starting Spark master at (spark://\S+)"
        )
        try:
            running.address = said.group(1)
            for _ in range(workers):
                running.start_worker()
            yield running
        finally:
            kill(tree(master.pid))
            for process in running.workers:
                kill(tree(process.pid))


def python_without_cepkit(folder: Path) -> Path:
    """Return a Python that has the packages of this one, but no cepkit."""
    venv.create(folder, symlinks=True)
    packages = Path(np.__file__).parent.parent
    # What such a file names is put on the path, and its own .pth files are not read: an editable
    # install of cepkit stays behind.
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "packages.pth").write_text(f"{packages}\n")
    return folder / "bin" / "python"


def zipped(path: Path) -> Path:
    """Return cepkit as a zip for `--py-files`."""
    package = Path(ck.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(package.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, Path("cepkit") / file.relative_to(package))
    return path


def write_events(folder: Path, number: int) -> pa.Table:
    """Write the events of all searches: sorted, in row groups that tasks can share."""
    table = make_events(number, keys=200, types=5, disorder=0).sort_by("ts")
    pq.write_table(table, folder / "events.parquet", row_group_size=max(1, number // 16))
    return table


def run(kinds: list[str], number: int, seed: int, *, killing: bool = True) -> int:
    """Run searches on a cluster, killing a worker in each; return how many went wrong."""
    chance = random.Random(seed)
    with (
        tempfile.TemporaryDirectory(prefix="cepkit-cluster-") as name,
        contextlib.ExitStack() as on,
    ):
        folder = Path(name)
        write_events(folder, number)
        running = on.enter_context(cluster(folder))
        command = [str(spark_home() / "bin" / "spark-submit"), "--master", running.address]
        command += ["--py-files", str(zipped(folder / "cepkit.zip"))]
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "1g",
            "spark.executor.memory": "1g",
            "spark.sql.shuffle.partitions": "4",
            "spark.executorEnv.NUMBA_NUM_THREADS": "1",
        }
        for setting, value in settings.items():
            command += ["--conf", f"{setting}={value}"]
        command += [str(Path(__file__)), "--job", str(folder), *kinds]
        log = on.enter_context((folder / "job.log").open("w"))
        environment = running.environment | {"PYTHONPATH": str(Path(__file__).parents[2])}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )
        try:
            wrong = _watch(process, running, chance, killing=killing)
        except BaseException:
            kill(tree(process.pid))
            raise
        if process.wait() or wrong:
            Path("out").mkdir(exist_ok=True)
            shutil.copy(folder / "job.log", "out")
            print(f"the job ended with {process.returncode}; what Spark says: out/job.log")
        return wrong + bool(process.returncode)


def _watch(
    process: subprocess.Popen[str], running: Cluster, chance: random.Random, *, killing: bool
) -> int:
    """Kill a worker in each search of a job; return how many searches went wrong."""
    assert process.stdout is not None
    wrong, began = 0, time.monotonic()
    for line in process.stdout:
        word, _, rest = line.strip().partition(" ")
        if word == "RUNNING" and killing:
            time.sleep(chance.random() / 2)
            if select.select([process.stdout], [], [], 0)[0]:
                print(f"{rest}: it ended before a worker was killed", flush=True)
                wrong += 1
                continue
            running.kill_worker(chance.randrange(len(running.workers)))
            print(f"{rest}: a worker killed", flush=True)
            running.start_worker()
        elif word in ("SAME", "OTHER", "FAILED"):
            seconds = time.monotonic() - began
            print(f"{rest}: {word.lower()}, {seconds:.0f} s", flush=True)
            wrong, began = wrong + (word != "SAME"), time.monotonic()
        else:  # a traceback
            print(line, end="")
    return wrong


def main() -> int:
    """Run searches on a cluster, or the job that spark-submit is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[])
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--job", type=Path)
    arguments = parser.parse_args()
    kinds = arguments.kinds or list(KINDS)
    if arguments.job:
        job(arguments.job, kinds)
        return 0
    end_in_order()
    return min(1, run(kinds, arguments.events, arguments.seed))


if __name__ == "__main__":
    sys.exit(main())
