"""Ctrl-C during any action of any result on Spark ends its jobs, and the session goes on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(os.name != "posix", reason="sends a signal"),
]

WALK = """
import os, signal, threading, time
from pathlib import Path
import cepkit as ck
from cepkit.spark.matches.pages import MatchPages

ASLEEP = Path("asleep").resolve()


def nap(batches):
    for batch in batches:
        while ASLEEP.exists():
            time.sleep(0.1)
        yield batch


frame = ck.sample_stocks(300)
spark = ck.get_session(cores=2, memory="1g")
spark.conf.set("spark.cepkit.fetch.maxBytes", "0")
in_spark = spark.createDataFrame(frame)
slow = in_spark.mapInArrow(nap, in_spark.schema)
text = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 minutes"
other = "PATTERN SEQ(GOOG a, MSFT b) WITHIN 5 minutes"
sums = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 5 minutes AGG COUNT"


def stream():
    return ck.events(slow, time="ts", type="ticker")


def streamed():
    files = ck.events(frame, time="ts", type="ticker").replay("in", speed=1000)
    files.put()
    live = files.frame(spark)
    live = live.mapInArrow(nap, live.schema)
    return ck.detect(ck.events(live, time="ts", type="ticker", lateness="1 second"), text)


matches = ck.detect(stream(), text)
together = ck.detect(stream(), [text, other])
sums_of_one, sums_of_two = ck.aggregate(stream(), sums), ck.aggregate(stream(), [sums, sums])
live, pages = streamed(), MatchPages(matches)
actions = {
    "count": matches.count,
    "explain": matches.explain,
    "plans": lambda: matches.plans,
    "timeline": matches.timeline,
    "collect": matches.collect,
    "show": matches.show,
    "take": lambda: matches.take(2),
    "head": matches.head,
    "foreach": lambda: matches.foreach(print),
    "foreach again": lambda: matches.foreach(print),
    "toArrow": matches.toArrow,
    "to_pandas": matches.to_pandas,
    "write": lambda: matches.write.mode("overwrite").parquet("matches"),
    "pages": lambda: pages.first(3),
    "counts of several": together.counts,
    "several together": lambda: together.together.toPandas(),
    "aggregates": sums_of_one.toPandas,
    "several aggregates": lambda: sums_of_two.together.collect(),
    "detect": lambda: ck.detect(stream(), text),
    "aggregate": lambda: ck.aggregate(stream(), sums),
    "head of a stream": lambda: stream().head(),
    "profile": lambda: ck.profile(stream(), text),
    "why_not": lambda: ck.why_not(stream(), text),
    "run_to_end": lambda: live.run_to_end("out", checkpoint="state"),
}
tracker = spark.sparkContext.statusTracker()


def press_ctrl_c():
    while not tracker.getActiveJobsIds():
        time.sleep(0.05)
    time.sleep(0.2)
    os.killpg(os.getpgrp(), signal.SIGINT)  # as a terminal does: to all of the group


def left():
    until = time.monotonic() + 200
    while tracker.getActiveJobsIds() and time.monotonic() < until:
        time.sleep(0.05)
    return list(tracker.getActiveJobsIds())


for name, action in actions.items():
    print(name, flush=True)
    ASLEEP.touch()
    threading.Thread(target=press_ctrl_c, daemon=True).start()
    try:
        action()
    except KeyboardInterrupt:
        assert not left(), f"{name}: jobs go on"
    else:
        raise AssertionError(f"{name}: was not interrupted")
ASLEEP.unlink()
assert matches.count() == len(matches.toPandas()) > 0
assert live.run_to_end("out", checkpoint="state").count() > 0
print(len(actions), "were interrupted")
"""


CUT_OFF = re.compile(
    r'Traceback .*\n  File ".*pyspark/daemon\.py".*\n(?:  .*\n)*ConnectionResetError: .*\n'
)
"""What a worker of Spark may print whose task is cancelled while it answers."""


def test_an_interrupt_ends_the_jobs_of_every_action(tmp_path: Path) -> None:
    walk = subprocess.run(
        [sys.executable, "-c", WALK],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
        start_new_session=True,
    )
    assert walk.returncode == 0, f"{walk.stdout}\n{walk.stderr}"
    assert walk.stdout.endswith("were interrupted\n")
    assert "Traceback" not in CUT_OFF.sub("", walk.stderr)
    assert "reentrant" not in walk.stderr
