"""The rows of a bucket go to Spark in few frames, and in batches of bounded size."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cepkit.spark.streaming.live import _FLUSH_BYTES, Stepping
from cepkit.spark.streaming.pieces import _TASKS, _murmur3, bucket_labels

ROWS = 100
"""Of which Spark makes a batch."""


def _frames(rows, flush_rows=ROWS):
    stepping = Stepping(None, None, {}, 0, flush_rows)
    return list(stepping._frames(iter(rows)))


def test_few_rows_go_in_one_frame():
    rows = [("events", 3, None), ("match", 2, b"ab"), ("match", 1, b"c")]
    (frame,) = _frames(rows)
    assert list(frame.itertuples(index=False, name=None)) == rows


def test_many_bytes_fill_a_batch_up_and_nothing_is_lost():
    piece = bytes(_FLUSH_BYTES // 4)
    rows = [("match", i, piece) for i in range(12)]
    frames = _frames(rows)
    # Five pieces are more than may be gathered.
    assert [(frame["kind"] != "").sum() for frame in frames] == [5, 5, 2]
    assert [len(frame) > ROWS for frame in frames] == [True, True, False]
    whole = pd.concat(frames)
    assert whole[whole["kind"] != ""]["rows"].tolist() == list(range(12))
    assert whole[whole["kind"] == ""]["packed"].isna().all()


def test_buckets_of_one_task_are_gathered_together():
    stepping = Stepping(None, None, {}, 0, ROWS)
    piece = bytes(_FLUSH_BYTES // 2)
    sizes = [len(frame) for _ in range(4) for frame in stepping._frames(iter([("row", 1, piece)]))]
    assert sum(size > ROWS for size in sizes) == 1


def test_without_a_size_of_batches_nothing_is_filled_up():
    piece = bytes(_FLUSH_BYTES)
    assert [len(frame) for frame in _frames([("match", 1, piece)] * 3, 0)] == [3]


def test_buckets_are_dealt_out_evenly_to_any_usual_number_of_tasks():
    labels = bucket_labels(16)
    assert labels == bucket_labels(10_000)[:16]
    hashes = _murmur3(np.array(labels, np.uint32)).astype(np.int64)
    for tasks in (1, 2, 3, 4, 6, 8, 16, 200):
        assert (hashes % tasks).tolist() == [i % tasks for i in range(16)]
    assert len(set(bucket_labels(10_000))) == 10_000 < _TASKS
