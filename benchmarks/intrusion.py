"""Four recorded intrusions with a known answer: is it found, by which order of events, how fast?

python -m benchmarks.intrusion [--out FOLDER]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.attacks import ATTACKS, pattern
from benchmarks.datasets import Clock, absent, intrusion
from benchmarks.measured import run
from benchmarks.results import show, write
from cepkit import compare_plans, detect, parse, profile
from cepkit.columnar.results.matches import Matches
from cepkit.stream.stream import Stream, events
from cepkit.stream.warnings import StreamWarning


def stream(recording: str, clock: Clock = "event") -> Stream:
    """Return a recording as a stream."""
    return events(intrusion(recording, clock), time="time", type="type")


def found(source: Stream, text: str, variables: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the arrival numbers of the events of each match."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)  # of types that a recording does not have
        matches = detect(source, text)
    assert isinstance(matches, Matches)
    return [tuple(row[v]["seq"] for v in variables) for row in matches.to_arrow().to_pylist()]


def answers() -> list[dict[str, Any]]:
    """Look for each attack in its recording, by each clock."""
    table = []
    for attack in ATTACKS:
        variables = [step.variable for step in attack.steps]
        row: dict[str, Any] = {"attack": attack.recording, "steps": len(attack.steps)}
        began = time.perf_counter()
        source = stream(attack.recording)
        numbers = found(source, pattern(attack), variables)
        total = time.perf_counter() - began
        row |= {"events": len(source.source), "matches": len(numbers)}
        row["known"] = _yes(attack.known in numbers)
        row["types alone"] = len(found(source, pattern(attack, narrow=False), variables))
        for name, clock in (
            ("as SEQ", "cut"),
            ("by arrival time", "arrival"),
            ("by number", "number"),
        ):
            other = found(stream(attack.recording, clock), pattern(attack), variables)
            row[name] = _yes(attack.known in other)
        query = parse(pattern(attack))
        plan = compare_plans(query, profile(source, query)).best
        measured = run(source, query, plan)
        row["Mev/s"] = row["events"] / measured.seconds / 1e6
        row["file to answer, s"] = total
        table.append(row)
    return table


def crossed() -> list[dict[str, Any]]:
    """Look for each attack in every recording: which other events look like it?"""
    sources = {attack.recording: stream(attack.recording) for attack in ATTACKS}
    return [
        {"pattern": attack.recording}
        | {
            name: len(found(source, pattern(attack), [step.variable for step in attack.steps]))
            for name, source in sources.items()
        }
        for attack in ATTACKS
    ]


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def main(arguments: Sequence[str] | None = None) -> None:
    """Look, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intrusion")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args(arguments)
    if reason := absent("windows-intrusion"):
        print(f"\nintrusion: left out, {reason}")
        return
    answers()  # compiles and warms up
    for name, title, rows in (
        ("intrusion", "Four attacks, each in its recording", answers()),
        ("intrusion_crossed", "Matches of each pattern in every recording", crossed()),
    ):
        show(title, rows)
        write(options.out, name, rows)


if __name__ == "__main__":
    main()
