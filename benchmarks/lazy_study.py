"""LAZY's study again: eager, chain and tree automata as one type of event gets rarer.

Finance (A), hi-tech (B) and one rarer stock (C) whose histories of twenty prices must correlate:
`corr(a.history, b.history) > 0.8 AND corr(b.history, c.history) > 0.8` in a window of twenty
seconds. A and B come once a second each, a little more and a little less by turns; C comes from as
often as they to a thousand times more seldom. Evaluations and the most instances alive are counted
for the eager NFA, all six chains and the tree NFA (also with events weighed by selectivity: not in
the source) on the sequences a b c, c b a and a c b; then on
a b c while the rarest type changes. Beyond the source both are done once more with a correlation
demanded of a and c too, so that orders differ in frequencies alone. All automata must find the same
matches. Source: LAZY, section 7.

    python -m benchmarks lazy_study [-- --small] [-- --out FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import pyarrow as pa

from benchmarks.results import show, write
from cepkit import events, parse, profile
from cepkit.automata.events import Event
from cepkit.automata.machine import Machine
from cepkit.automata.mechanisms import MECHANISMS, Mechanism, TreeNFA
from cepkit.automata.simulation import machine_for
from cepkit.automata.subject import attributes_read
from cepkit.figures.kit.style import colour_of, figure
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import Stream

WINDOW = 20
LENGTH = 20
"""The number of prices of a history, a second apart."""
THRESHOLD = 0.8
SHARES = (1.0, 1 / 3, 1 / 10, 1 / 30, 1 / 100, 1 / 300, 1 / 1000)
CASES = {
    "abc": ("abc", ("ab", "bc")),
    "cba": ("cba", ("ab", "bc")),
    "acb": ("acb", ("ab", "bc")),
    "abc, every pair": ("abc", ("ab", "bc", "ac")),
}
"""For each case the sequence, and which pairs must correlate."""
CHANGING = ("abc", "abc, every pair")
RARE = 1 / 50
"""The rate of the rarest type relative to the others, in the stream that changes."""


@dataclass(frozen=True)
class Sizes:
    """The lengths of the streams.

    Attributes:
        seconds: The length of the streams with one rare type, in seconds.
        phase: The seconds until the rarest type changes.
        bucket: The number of events between two readings of the counters there.
        shares: How rare the rare type gets.
    """

    seconds: int
    phase: int
    bucket: int
    shares: tuple[float, ...]


FULL = Sizes(3_000, 1_000, 500, SHARES)
SMALL = Sizes(300, 150, 50, SHARES[:5:2])


def moments(random: np.random.Generator, rate: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the times of a type that comes `rate[t]` times on average in second t.

    As many as that makes in all, not a Poisson number: of the rarest there are but a few.
    """
    due = np.concatenate([[0.0], rate.cumsum()])
    at = np.sort(random.random(round(due[-1]))) * due[-1]
    return np.interp(at, due, np.arange(len(due)))


def stream(rates: Mapping[str, npt.NDArray[np.float64]], seed: int) -> Stream:
    """Return stocks with histories: a market that all follow, and a walk of each type's own.

    Args:
        rates: For each type how often it comes in each second.
        seed: The seed of the random generator.
    """
    random = np.random.default_rng(seed)
    length = len(next(iter(rates.values()))) + LENGTH
    market = random.normal(size=length).cumsum()
    kinds, times, histories = [], [], []
    for kind, rate in rates.items():
        own = random.normal(size=length).cumsum()
        at = moments(random, rate)
        rows = at.astype(np.int64)[:, None] + np.arange(1, LENGTH + 1)
        noise = 0.2 * random.normal(size=rows.shape)
        histories.append((market + 0.6 * own)[rows] + noise)
        times.append(at)
        kinds += [kind] * len(at)
    order = np.argsort(np.concatenate(times), kind="stable")
    prices = np.concatenate(histories)[order]
    table = pa.table(
        {
            "time": pa.array((np.concatenate(times)[order] * 1e6).astype(np.int64)),
            "type": pa.array(np.array(kinds, dtype=object)[order]),
            "history": pa.array(list(prices), pa.list_(pa.float64())),
        }
    )
    return events(table, time="time", type="type", unit="us")


def with_one_rare(share: float, seconds: int, seed: int = 20150629) -> Stream:
    """Return a stream in which C comes `share` times as often as A and B, which take turns."""
    turns = 0.2 * np.sin(np.arange(seconds) * 2 * np.pi / 300)
    return stream({"A": 1 + turns, "B": 1 - turns, "C": np.full(seconds, share)}, seed)


def that_changes(phase: int, seed: int = 20150703) -> Stream:
    """Return a stream whose rarest type is C, then A, then B, then C again."""
    rates = {
        kind: np.concatenate([np.full(phase, RARE if kind == rare else 1.0) for rare in "CABC"])
        for kind in "ABC"
    }
    return stream(rates, seed)


def pattern(case: str) -> Query:
    """Return the sequence of a case, each variable of the type of its name."""
    sequence, pairs = CASES[case]
    listed = ", ".join(f"{name.upper()} {name}" for name in sequence)
    demanded = " AND ".join(f"corr({x}.history, {y}.history) > {THRESHOLD}" for x, y in pairs)
    return parse(f"PATTERN SEQ({listed}) WHERE {demanded} WITHIN {WINDOW} seconds")


def automata(
    source: Stream | None = None, query: Query | None = None
) -> Iterator[tuple[str, Mechanism, tuple[str, ...] | None]]:
    """Yield the name of each automaton, the mechanism and its order.

    Args:
        source: The stream whose selectivities one of them is to know.
        query: The pattern.
    """
    yield "eager", MECHANISMS["eager-nfa"], None
    for order in permutations("abc"):
        yield f"chain {''.join(order)}", MECHANISMS["chain-nfa"], order
    yield "tree", TreeNFA(), None
    known = None if source is None or query is None else profile(source, query)
    yield "tree, weighed", TreeNFA(known), None


def ready(
    source: Stream, query: Query, mechanism: Mechanism, order: tuple[str, ...] | None
) -> tuple[Machine, list[Event]]:
    """Return an automaton that only counts, and the events for it."""
    columns = source.columns(attributes_read(query))
    machine, each = machine_for(mechanism, columns, query, as_plan(order, query))
    machine.journal.recording = False
    return machine, each


def rarer_and_rarer(sizes: Sizes) -> list[dict[str, Any]]:
    """Run all automata on all sequences, from equal frequencies to one rare type."""
    rows = []
    for share in sizes.shares:
        source = with_one_rare(share, sizes.seconds)
        for case in CASES:
            query = pattern(case)
            found = set()
            for called, mechanism, order in automata(source, query):
                machine, each = ready(source, query, mechanism, order)
                began = time.process_time()
                for event in each:
                    machine.feed(event)
                machine.finish()
                seconds = time.process_time() - began
                journal = machine.journal
                found.add(journal.matches)
                rows.append(
                    {
                        "sequence": case,
                        "share of c": round(share, 4),
                        "automaton": called,
                        "evaluations": journal.evaluations,
                        "peak instances": journal.peak_instances,
                        "peak stored": journal.peak_stored,
                        "matches": journal.matches,
                        "events": len(each),
                        "seconds": round(seconds, 3),
                    }
                )
            assert len(found) == 1, f"{case}, {share}: they found {found} matches"
    return rows


def changing(sizes: Sizes) -> list[dict[str, Any]]:
    """Run all automata while the rarest type changes, and read the counters as they go."""
    source = that_changes(sizes.phase)
    rows = []
    runs = [
        (case, called, *ready(source, pattern(case), mechanism, order))
        for case in CHANGING
        for called, mechanism, order in automata(source, pattern(case))
    ]
    for case, called, machine, each in runs:
        before = 0
        for number, event in enumerate(each, start=1):
            machine.feed(event)
            if number % sizes.bucket == 0 or number == len(each):
                phase = min(3, int(event.ts // 1_000_000) // sizes.phase)
                done = machine.journal.evaluations
                rows.append(
                    {
                        "sequence": case,
                        "automaton": called,
                        "events": number,
                        "rarest": "cabc"[phase],
                        "evaluations": done - before,
                    }
                )
                before = done
    return rows


def beside_each_other(rows: Sequence[Mapping[str, Any]], value: str) -> list[dict[str, Any]]:
    """Return one row for each sequence and share, a column for each automaton."""
    table: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in rows:
        key = (row["sequence"], row["share of c"])
        head = {"sequence": key[0], "share of c": key[1]}
        table.setdefault(key, head)[row["automaton"]] = row[value]
    return sorted(table.values(), key=lambda row: list(CASES).index(row["sequence"]))


def by_phase(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the evaluations of each stretch with one rarest type, a column for each automaton."""
    table: list[dict[str, Any]] = []
    for case in CHANGING:
        of_case: list[dict[str, Any]] = []
        for called, _, _ in automata():
            phase, last = -1, ""
            for row in rows:
                if (row["sequence"], row["automaton"]) != (case, called):
                    continue
                if row["rarest"] != last:
                    phase, last = phase + 1, row["rarest"]
                if phase == len(of_case):
                    of_case.append({"sequence": case, "rarest": last})
                of_case[phase][called] = of_case[phase].get(called, 0) + row["evaluations"]
        table += of_case
    return table


def lines(
    title: str, rows: Sequence[Mapping[str, Any]], x: str, y: str, across: str, *, logarithmic: bool
) -> go.Figure:
    """Return a figure with a line for each automaton, evaluations and instances on log scales."""
    made = figure(title, 420, 820)
    for number, (called, _, _) in enumerate(automata()):
        own = sorted((row for row in rows if row["automaton"] == called), key=lambda row: row[x])
        made.add_scatter(
            x=[row[x] for row in own],
            # A stretch without an evaluation has no place on a log scale.
            y=[row[y] or None for row in own],
            name=called,
            mode="lines+markers",
            line={
                "color": colour_of(number),
                "width": 4 if called.startswith("tree") else 2,
                "dash": "dot" if called == "eager" else "solid",
            },
            marker={"symbol": number, "size": 8},
        )
    made.update_xaxes(title=across, type="log" if logarithmic else "linear")
    made.update_yaxes(title=y, type="log")
    made.update_layout(margin={"t": 96}, legend={"y": 1.02})
    return made


def figures(
    rows: Sequence[Mapping[str, Any]], changed: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, go.Figure]]:
    """Yield the figures of the study and the names of their files."""
    bucket = changed[0]["events"]
    for case in CASES:
        own = [row for row in rows if row["sequence"] == case]
        file = case.replace(", ", "_").replace(" ", "_")
        for value in ("evaluations", "peak instances"):
            title = f"{value} on {case}"
            yield (
                f"lazy_{value.replace(' ', '_')}_{file}",
                lines(title, own, "share of c", value, "c for each a", logarithmic=True),
            )
        if case in CHANGING:
            # The last stretch is short, and would look cheap.
            own = [r for r in changed if r["sequence"] == case and r["events"] % bucket == 0]
            title = f"evaluations on {case} while the rarest type changes: c, a, b, c"
            yield (
                f"lazy_changing_{file}",
                lines(title, own, "events", "evaluations", "events", logarithmic=False),
            )


def main(arguments: Sequence[str] = ()) -> None:
    """Run the study, print its tables, write them and the figures."""
    parser = argparse.ArgumentParser(prog="lazy_study", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of it, and not so rare")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    chosen = parser.parse_args(arguments)
    sizes = SMALL if chosen.small else FULL
    rows = rarer_and_rarer(sizes)
    changed = changing(sizes)
    for value in ("evaluations", "peak instances", "peak stored"):
        show(value, beside_each_other(rows, value))
    show("evaluations while the rarest type changes", by_phase(changed))
    write(chosen.out, "lazy_study", rows)
    write(chosen.out, "lazy_study_changing", changed)
    for name, made in figures(rows, changed):
        made.write_html(chosen.out / f"{name}.html", include_plotlyjs="directory")


if __name__ == "__main__":
    main(sys.argv[1:])
