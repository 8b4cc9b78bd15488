"""A full disk under the checkpoint stops a query; with room again it continues unharmed."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

import cepkit as ck
from tests.spark.live import PATTERNS, Live, identities, in_batch, make_events, sealed

SMALL = "2m"


@pytest.fixture
def small_disk(tmp_path):
    """A folder with a disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a disk of its own cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, left: int) -> Path:
    """Fill the disk of a folder but for so many bytes, and return the file that does."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    with filler.open("r+b") as file:
        file.truncate(max(0, filler.stat().st_size - left))
    return filler


def test_query_after_a_full_disk_loses_and_doubles_no_match(spark, tmp_path, small_disk):
    live = Live(spark, tmp_path)
    table, text = make_events(4_000), PATTERNS["SEQ"]
    live.put(table.slice(0, 2_000))
    matches = ck.detect(live.events(lateness="3 seconds"), text, spark=ck.SparkOptions(buckets=3))

    def run():
        writer = matches.writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(small_disk / "state"))
        query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
        query.awaitTermination()

    run()
    live.put(table.slice(2_000), 1_000)
    failed = 0
    # It ends before the micro-batch is written down, in the state, or where it is committed.
    for left in (0, 24 << 10):
        filler = fill(small_disk, left)
        try:
            run()
        except StreamingQueryException:
            failed += 1
        filler.unlink()
    assert failed
    run()
    expected = in_batch(table, text, sealed(table, 3))
    assert len(expected) > 20
    assert identities(live.result()) == expected
