"""Calls on a stopped session raise with a hint, whether another session runs or not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

ASKED = """
import cepkit as ck

frame = ck.sample_stocks(200)
query = ck.parse("PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 minutes")
plan = ck.choose_plan(query, ck.profile(ck.events(frame, time="ts", type="ticker"), query))
sums = ck.parse("PATTERN SEQ(MSFT a, GOOG b) WITHIN 5 minutes AGG count(*)")


def stream():
    session = ck.get_session(cores=1, memory="1g")
    session.conf.set("spark.cepkit.fetch.maxBytes", "0")
    in_spark = session.createDataFrame(frame)
    return in_spark, ck.events(in_spark, time="ts", type="ticker")


in_spark, old = stream()
matches, known = ck.detect(old, query, plan), ck.detect(old, query, plan)
expected = known.count()
fetched = ck.detect(stream()[1], query, plan, spark=ck.SparkOptions(route="driver"))
aggregates, several = ck.aggregate(old, sums), ck.aggregate(old, [sums, sums])
questions = {
    "events": lambda: ck.events(in_spark, time="ts", type="ticker"),
    "head": lambda: old.head(),
    "profile": lambda: ck.profile(old, query),
    "detect": lambda: ck.detect(old, query, plan),
    "aggregate": lambda: ck.aggregate(old, sums),
    "why_not": lambda: ck.why_not(old, query),
    "count": lambda: matches.count(),
    "explain": lambda: matches.explain(),
    "timeline": lambda: matches.timeline(),
    "show": lambda: matches.show(),
    "collect": lambda: matches.collect(),
    "toPandas": lambda: matches.toPandas(),
    "toArrow": lambda: matches.toArrow(),
    "count of aggregates": lambda: aggregates.count(),
    "together": lambda: several.together,
}


def ask_all():
    for name, question in questions.items():
        try:
            question()
        except ck.CepkitError as error:
            assert "has been stopped\\nHint: cepkit.get_session() starts another" in str(error)
        else:
            raise AssertionError(name)


ck.get_session().stop()
ask_all()
assert known.count() == expected, "what is known needs no session"
assert fetched.count() == len(fetched.to_pandas()) == expected, "nor does what is here"
repr(old), repr(matches)
_, new = stream()
ask_all()
assert len(new.head(3)) == 3
print("all were asked", expected > 0)
"""


def test_every_call_on_a_stopped_session_has_a_hint(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", ASKED],
        check=False,
        env=dict(os.environ),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "all were asked True\n"
