"""Every public verb may run in several threads at once, also over one stream."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.columnar.slices import cutting
from cepkit.threads import VARIABLE

SECONDS = 300.0
ROUNDS = 2
WINDOW = "WITHIN 300 milliseconds"


def of_patterns(number: int) -> dict[str, str]:
    """Return patterns with other types, conditions and structures for each thread."""
    a, b, c = (f"T0{1 + (number + step) % 8}" for step in range(3))
    where = f"WHERE a.price + {number} < b.price"
    return {
        "seq": f"PATTERN SEQ({a} a, {b} b, {c} c) {where} {WINDOW}",
        "odd": f"PATTERN SEQ({a} a, {b} b) WHERE a.price * b.diff > {number} OR a.key = b.key"
        f" {WINDOW}",
        "not": f"PATTERN SEQ({a} a, NOT({b} n), {c} c) WHERE n.price > a.price {WINDOW}",
        "set": f"PATTERN SEQ({a} a, KL({b} b), {c} c) {where} WITHIN 40 milliseconds",
        "next": f"PATTERN SEQ({a} a, {b} b) {where} {WINDOW} STRATEGY skip-till-next-match",
    }


def every_verb(stream: Any, number: int) -> list[str]:
    """Return what all verbs say about the patterns of one thread."""
    patterns = of_patterns(number)
    told: list[Any] = []
    for text in patterns.values():
        matches = ck.detect(stream, text)
        told += [matches.count(), matches.to_arrow().num_rows, len(matches.to_pandas())]
        told += [[(s.variable, s.candidates, s.survivors) for s in matches.explain().steps]]
    seq = patterns["seq"]
    statistics = ck.profile(stream, seq)
    plan = ck.choose_plan(seq, statistics)
    told += [statistics, plan, ck.compare_plans(seq, statistics).best, ck.profile(stream)]
    told += [ck.detect(stream, seq, plan, adapt="slices").count()]
    together = ck.detect(stream, patterns)
    told += [together.counts().to_dict(), together.together.to_arrow().num_rows]
    counted = f"{seq} AGG COUNT, SUM(c.price)"
    told += [ck.aggregate(stream, counted, emit=emit).to_pandas() for emit in ("new", "total")]
    told += [ck.aggregate(stream, counted, emit="total", method="detect").to_pandas()]
    told += [ck.why_not(stream, seq, limit=2), ck.simulate(stream.head(300), seq).totals]
    return [*map(str, told)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "table"])
def test_eight_threads_with_their_own_patterns_have_the_results_of_one(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(cutting, "SLICE_ROWS", 1 << 10)
    table = zipf_events(4_000, seed=1)
    if kind == "file":
        import pyarrow.parquet as pq

        pq.write_table(table, tmp_path / "events.parquet")
        table = tmp_path / "events.parquet"

    def stream() -> Any:
        return ck.events(table, time="ts", type="type")

    alone: dict[int, list[str]] = {}
    said: dict[tuple[int, int], list[str]] = {}
    failed: list[BaseException] = []
    monkeypatch.setenv(VARIABLE, "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(8):
            alone[number] = every_verb(stream(), number)
        monkeypatch.setenv(VARIABLE, "12")
        shared, started = stream(), threading.Barrier(8)

        def run(number: int) -> None:
            try:
                started.wait(SECONDS)
                for turn in range(ROUNDS):
                    said[number, turn] = every_verb(shared, number)
            except BaseException as error:
                failed.append(error)
                raise

        in_threads(run)
    assert not failed
    for (number, _), told in said.items():
        assert told == alone[number]
    assert len(said) == 8 * ROUNDS


def in_threads(run: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_threads_that_use_one_result_at_once_see_the_same(monkeypatch):
    monkeypatch.setattr(cutting, "SLICE_ROWS", 1 << 10)
    monkeypatch.setenv(VARIABLE, "12")
    stream = ck.events(zipf_events(4_000, seed=2), time="ts", type="type")
    matches = ck.detect(stream, of_patterns(0)["seq"], adapt="invariants")
    said: list[Any] = []

    def run(number: int) -> None:
        ways = (
            matches.count,
            lambda: len(matches.to_pandas()),
            lambda: matches.to_arrow().num_rows,
            lambda: sum(map(len, matches.batches())),
        )
        said.extend(ways[(number + turn) % 4]() for turn in range(4))
        said.append(sum(s.survivors for s in matches.explain().steps if s.variable == "c") > 0)

    in_threads(run)
    assert len(said) == 40
    assert len({each for each in said if each is not True}) == 1
