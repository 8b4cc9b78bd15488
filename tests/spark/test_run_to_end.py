"""Streams that end: late events are reported, and a folder belongs to its checkpoint."""

from __future__ import annotations

import contextlib
import shutil
import warnings

import numpy as np
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.errors import StreamError
from cepkit.stream.warnings import StreamWarning
from tests.spark.live import PATTERNS, SECOND, Live, identities, in_batch, make_events

SEQ = PATTERNS["SEQ"]
EPOCH = "PATTERN SEQ(A a, B b, C c) WITHIN 10 seconds PARTITION BY key"


@pytest.fixture
def live(spark, tmp_path):
    return Live(spark, tmp_path)


def ended(live, text, lateness, name):
    """Return the rows of a query over all files, and the warnings about it."""
    matches = ck.detect(live.events(lateness=lateness), text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StreamWarning)
        rows = matches.run_to_end(live.root / f"{name}-out", checkpoint=live.root / f"{name}-state")
    return rows, [str(one.message) for one in caught if one.category is StreamWarning]


def test_late_events_are_reported_with_the_lateness_that_suffices(live):
    table = make_events(1_500, disorder=0)
    for begin in (1_000, 500, 0):  # the latest events come first
        live.put(table.slice(begin, 500))
    rows, said = ended(live, SEQ, "500 milliseconds", "hasty")
    assert rows.late is not None
    assert said == [str(rows.late)]
    assert str(rows.late) in str(rows.explain())
    assert f"{rows.late.events} late events left out" in said[0]
    lateness = f"{rows.late.lateness // 1_000} milliseconds"
    patient, said = ended(live, SEQ, lateness, "patient")
    assert (patient.late, said) == (None, [])
    assert "late" not in patient.explain().title
    assert identities(patient.toArrow()) == in_batch(table, SEQ)
    less = f"{rows.late.lateness // 1_000 - 1} milliseconds"
    assert ended(live, SEQ, less, "less")[0].late is not None


def test_events_of_1970_and_before_have_the_matches_of_the_batch(live):
    seconds = (-20, -15, -12, -1, 0, 1, 8, 9, 10)
    live.put(_events(seconds[:5]))
    live.put(_events(seconds[5:], 5))
    rows, said = ended(live, EPOCH, "1 second", "epoch")
    assert said == []
    assert identities(rows.toArrow()) == [(0, 1, 2), (3, 4, 5), (6, 7, 8)]


def _events(seconds, first=0):
    count = len(seconds)
    kinds = ["ABC"[(first + i) % 3] for i in range(count)]
    times = pa.array(np.array(seconds) * SECOND).cast(pa.timestamp("us", tz="UTC"))
    names = ["ts", "type", "key", "price", "id"]
    columns = [times, kinds, [1] * count, [1.0] * count, list(range(first, first + count))]
    return pa.table(dict(zip(names, columns, strict=True)))


def test_a_folder_with_rows_of_another_run_is_refused(live):
    live.put(make_events(1_000), 500)
    ended(live, SEQ, "3 seconds", "one")
    out = live.root / "one-out"
    written = live.spark.read.parquet(str(out)).count()
    changed = ck.detect(live.events(lateness="3 seconds"), PATTERNS["AND"])
    with pytest.raises(StreamError, match="has rows of another run") as error:
        changed.run_to_end(out, checkpoint=live.root / "other-state")
    assert "a new checkpoint and a new folder" in str(error.value.hint)
    assert not (live.root / "other-state").exists(), "nothing has run"
    writer = changed.writeStream.format("parquet")
    with pytest.raises(StreamError, match="has rows of another run"):
        writer.start(str(out), checkpointLocation=str(live.root / "other-state"))
    with pytest.raises(StreamError, match="has rows of another run"):
        writer.options(path=str(out), checkpointLocation=str(live.root / "other-state")).start()
    same = ck.detect(live.events(lateness="3 seconds"), SEQ)
    shutil.rmtree(live.root / "one-state")
    with pytest.raises(StreamError, match="has none"):
        same.run_to_end(out, checkpoint=live.root / "one-state")
    assert live.spark.read.parquet(str(out)).count() == written


def test_a_checkpoint_that_is_cut_is_named(live):
    live.put(make_events(1_000), 500)
    rows, _ = ended(live, SEQ, "3 seconds", "one")
    state = live.root / "one-state"
    changes = [_last(folder) for folder in state.glob("state/0/*") if folder.name.isdecimal()]
    with cut(*changes), pytest.raises(StreamError, match=r"checkpoint '.*one-state' cannot be"):
        rows.count()
    assert rows.count() > 0
    for file in (state / "metadata", _last(state / "offsets"), _last(state / "sources" / "0")):
        with cut(file), pytest.raises(StreamError, match="cannot be read: Unexpected") as error:
            ended(live, SEQ, "3 seconds", "one")
        assert "a new checkpoint and a new folder" in str(error.value.hint)


def _last(folder):
    files = [file for file in folder.iterdir() if file.name[:1].isdecimal()]
    return max(files, key=lambda file: (int(file.name.partition(".")[0]), file.name))


@contextlib.contextmanager
def cut(*files):
    """Cut files in half, as after a crash of the machine."""
    whole = {file: file.read_bytes() for file in files}
    sums = {file: file.with_name(f".{file.name}.crc") for file in files}
    kept = {file: at.read_bytes() for file, at in sums.items() if at.exists()}
    for file, content in whole.items():
        sums[file].unlink(missing_ok=True)
        file.write_bytes(content[: len(content) // 2])
    yield
    for file, content in whole.items():
        file.write_bytes(content)
    for file, content in kept.items():
        sums[file].write_bytes(content)
