"""Streaming queries killed at random moments lose nothing and double nothing: `make test-kills`.

    python -m tests.spark.kills [--kills 20] [--seed 1] [KIND ...]

A job of its own reads files, a file a micro-batch. Its whole process tree (Python, JVM, workers) is
killed with SIGKILL, again and again, and started anew on the same checkpoint; or its workers alone,
or an executor of a cluster of two (`local-cluster`).
What is in the sink at last is compared with the batch, row by row. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

import cepkit as ck
from cepkit.spark.session.java import find_java
from cepkit.spark.session.local import local_settings, spark_java_home
from tests.spark.classes import java_options
from tests.spark.live import COUNTED, KEYED, PATTERNS, Live, make_events, sealed, times

LATENESS = 2
SEQUENCE = f"PATTERN SEQ(A a, B b, C c) WHERE {KEYED} WITHIN 1 second"
KINDS = {
    "keyed": PATTERNS["SEQ"],
    "un-keyed": PATTERNS["SEQ without a key"],
    "NOT at the end": PATTERNS["NOT at the end"],
    "skip-till-next-match": PATTERNS["skip-till-next-match"],
    "aggregate": f"{SEQUENCE} AGG COUNT, MAX(c.price) GROUP BY key",
    "timeouts": SEQUENCE,
    "workers": PATTERNS["SEQ"],
    "executors": PATTERNS["SEQ"],
    "counted": COUNTED["partition-contiguity"],
    "slices": PATTERNS["SEQ without a key"],
    "AFTER MATCH SKIP": f"{SEQUENCE} PARTITION BY key AFTER MATCH SKIP PAST LAST EVENT",
    "several": {name: PATTERNS[name] for name in ("SEQ", "NOT in the middle", "NOT at the end")},
}
"""The queries; of "workers" the Python workers alone are killed, of "executors" one executor."""


def events_of_all() -> pa.Table:
    """Return the events of every run."""
    return make_events(6_000, disorder=LATENESS)


def job(kind: str, root: Path) -> None:
    """Run a query over all files; this process is killed."""
    spark = _cluster() if kind == "executors" else ck.get_session(cores=2, memory="1g")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    stream = Live(spark, root).events(lateness=f"{LATENESS} seconds")
    print("READY", flush=True)
    Live(spark, root).run(rows_of(kind, stream))
    print("DONE", flush=True)


def _cluster() -> Any:
    """Return the session of a cluster of two executors on this machine."""
    os.environ.update(SPARK_HOME=str(Path(pyspark.__file__).parent), PYSPARK_PYTHON=sys.executable)
    settings = local_settings(2, "1g") | {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.executor.memory": "1g",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    with spark_java_home(find_java()) as java:
        os.environ["JAVA_HOME"] = str(java)
        return builder.getOrCreate()


def rows_of(kind: str, stream: Any) -> Any:
    """Return the rows of a kind, as a streaming DataFrame."""
    if kind == "aggregate":
        return ck.aggregate(stream, KINDS[kind], emit="changes")
    options = ck.SparkOptions(
        timeouts=kind == "timeouts", slice_seconds=0.5 if kind == "slices" else None
    )
    return ck.detect(stream, KINDS[kind], spark=options)


def expected(kind: str, table: pa.Table) -> Counter[str]:
    """Return the rows that must be in the sink, found by a batch."""
    if kind == "counted":
        table = table.sort_by("ts")
    stream = ck.events(table, time="ts", type="type")
    if kind == "aggregate":
        rows = ck.aggregate(stream, KINDS[kind], emit="changes").to_arrow()
        return contents(rows.filter(pa.array(times(rows) <= sealed(table, LATENESS))))
    if kind == "several":
        total: Counter[str] = Counter()
        for name, text in KINDS[kind].items():
            ahead = 2 if name == "NOT at the end" else 0
            matches = ck.detect(stream, text).to_arrow()
            total += contents(_until(matches, sealed(table, LATENESS, ahead)), pattern=name)
        return total
    if kind == "AFTER MATCH SKIP":
        matches = ck.detect(stream, KINDS[kind]).to_arrow()
        started = times(matches, "match_start") <= sealed(table, LATENESS, 1)
        return contents(matches.filter(pa.array(started)))
    ahead = 2 if kind == "NOT at the end" else 0
    found = _until(ck.detect(stream, KINDS[kind]).to_arrow(), sealed(table, LATENESS, ahead))
    if kind != "timeouts":
        return contents(found)
    total = contents(found, kind="match")
    end = sealed(table, LATENESS, 1)
    for awaited, structure, where in (
        ("b", "A a, NOT(B b)", "a.key = b.key"),
        ("c", "A a, B b, NOT(C c)", KEYED),
    ):
        text = f"PATTERN SEQ({structure}) WHERE {where} WITHIN 1 second"
        total += contents(
            _until(ck.detect(stream, text).to_arrow(), end), kind="timed-out", awaited=awaited
        )
    return total


def _until(matches: pa.Table, end: int) -> pa.Table:
    return matches.filter(pa.array(times(matches, "match_end") <= end))


def contents(table: pa.Table, **more: str) -> Counter[str]:
    """Return how often each row is there, by all its values and `more` that each has."""
    rows: Counter[str] = Counter()
    for row in table.to_pylist():
        values = more | row
        values.pop("window_end", None)
        # Times of Spark's files and of Arrow's are equal, but of different zones.
        rows[repr(sorted((k, _plain(v)) for k, v in values.items() if v is not None))] += 1
    return rows


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((k, _plain(v)) for k, v in value.items())
    return value.timestamp() if hasattr(value, "timestamp") else value


def tree(pid: int) -> list[int]:
    """Return a process and all that it has started."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def workers_of(pid: int) -> list[int]:
    """Return the Python workers of a job, not the process that forks them."""
    found = []
    for one in tree(pid)[1:]:
        with contextlib.suppress(OSError):
            if b"\0-m\0cepkit.spark.session.daemon" in Path(f"/proc/{one}/cmdline").read_bytes():
                found.append(one)
    return found[1:]


def executors_of(pid: int) -> list[int]:
    """Return the executors of a job on a cluster."""
    found = []
    for one in tree(pid)[1:]:
        with contextlib.suppress(OSError):
            if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{one}/cmdline").read_bytes():
                found.append(one)
    return found


def kill(pids: list[int]) -> None:
    """Kill processes at once."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def commits(root: Path) -> int:
    """Return how many micro-batches are done."""
    folder = root / "out-checkpoint" / "commits"
    return sum(1 for f in folder.glob("[0-9]*")) if folder.exists() else 0


def run(kind: str, kills: int, seed: int) -> int | None:
    """Kill a query up to so often until it ends; return how often, None where its sink is wrong."""
    root = Path(tempfile.mkdtemp(prefix="cepkit-kills-"))
    chance, table = random.Random(seed), events_of_all()
    Live(None, root).put(table, 1_000)
    done = moved = 0
    command = [sys.executable, "-m", "tests.spark.kills", "--job", str(root), kind]
    while True:
        with (root / "log").open("a") as log:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        assert process.stdout is not None
        process.stdout.readline()
        killed = False
        while done < kills and process.poll() is None:
            # Every other life ends a micro-batch at least, or nothing would ever move.
            until = commits(root) + done % 2
            while commits(root) < until and process.poll() is None:
                time.sleep(0.05)
            time.sleep(chance.random() * 5)
            if process.poll() is not None:
                break
            if kind in ("workers", "executors"):
                # A task that workers had fails, and with it a local query; idle ones are replaced,
                # and so is an executor of a cluster.
                victims = workers_of(process.pid)
                if kind == "executors":
                    victims = executors_of(process.pid)[: chance.choice((1, 1, 2))]
                kill(victims)
                done, killed, moved = done + bool(victims), killed or bool(victims), commits(root)
                continue
            kill(tree(process.pid)[:: chance.choice((1, -1))])
            process.wait()
            done, killed = done + 1, True
            moved = commits(root)
            break
        output = process.communicate()[0]
        if process.returncode and killed:
            continue
        if process.returncode:
            print((root / "log").read_text()[-3_000:], output)
            return None
        break
    want = expected(kind, table)
    spark = ck.get_session(cores=2, memory="1g")
    got = contents(Live(spark, root).result())
    lost, doubled = want - got, Counter({k: n for k, n in got.items() if n > 1 and want[k] < n})
    wrong = Counter({k: n for k, n in got.items() if k not in want})
    print(
        f"{kind}: {done} kills, the last after micro-batch {moved}; {sum(want.values()):,} rows,"
        f" {sum(lost.values())} lost, {len(doubled)} doubled, {sum(wrong.values())} wrong",
        flush=True,
    )
    if want != got:
        return None
    shutil.rmtree(root)
    return done


def run_all(kind: str, kills: int, seed: int) -> bool:
    """Kill queries so often in all, one after the other; return whether their sinks are right."""
    while kills > 0:
        done = run(kind, kills, seed)
        if done is None:
            return False
        if not done:
            print(f"{kind}: a query ended before it was killed; {kills} kills are left", flush=True)
        kills, seed = kills - done, seed + 1
    return True


def main() -> int:
    """Run kinds of queries, or the job that is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--job", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("SPARK_SUBMIT_OPTS", java_options())
    if arguments.job:
        job(arguments.kinds[0], arguments.job)
        return 0
    right = [run_all(k, arguments.kills, arguments.seed) for k in arguments.kinds or KINDS]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
