"""Patterns that are learned from incidents: are the planted ones found, and how good are they?

Thirty generated streams with a planted pattern (`benchmarks.planted`), and recorded data with known
answers. Beside `learn` stand the most frequent sequence of types before incidents, and a decision
tree on the counts of types (where scikit-learn is installed). All are judged on the same later
events, by the same rule.

python -m benchmarks.learning [--seeds 30] [--first 0] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.datasets import absent, folder, intrusion
from benchmarks.planted import WITHIN, Planted, alarms_of, alarms_score, own_score, planted
from benchmarks.results import machine, show, write
from cepkit import events, learn
from cepkit.learning.result import Learned
from cepkit.stream.warnings import StreamWarning


def generated(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Learn from each generated stream."""
    rows = []
    for seed in seeds:
        case = planted(seed)
        stream = events(case.frame, time="time", type="type", unit="s")
        began = time.perf_counter()
        learned = learn(stream, case.incidents, within="10 minutes", by=case.by, progress=False)
        seconds = time.perf_counter() - began
        split = learned.split.timestamp()
        shapes = [shape(each.text) for each in learned.proposals]
        rank = shapes.index(case.shape) + 1 if case.shape in shapes else None
        same = None if rank is None else learned.proposals[rank - 1]
        head = case.text.splitlines()[0].removeprefix("PATTERN ")
        rows.append(
            {
                "seed": seed,
                "planted": head,
                "events": len(case.frame),
                "incidents": len(case.incidents),
                "rank": rank,
                "conditions": None if same is None else conditions_found(case, same.text),
                "own F1": own_score(case, split).f1,
                "that F1": None if same is None else same.f1,
                "first F1": learned.best.f1 if learned.best else 0.0,
                "sequence F1": alarms_score(case, _frequent(case, split), split).f1,
                "tree F1": _tree(case, split),
                "seconds": seconds,
            }
        )
        print(f"  {seed}: rank {rank}, {seconds:.1f} s", flush=True)
    return rows


def totals(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sum up the generated streams."""
    among = [row for row in rows if row["rank"] is not None and row["rank"] <= 3]
    close = [row for row in among if row["that F1"] >= row["own F1"] - 0.05]
    first = [row for row in rows if row["first F1"] >= row["own F1"] - 0.05]
    trees = [row["tree F1"] for row in rows if row["tree F1"] is not None]
    return [
        {
            "streams": len(rows),
            "planted among the first three": len(among),
            "of these within 0.05 of its F1": len(close),
            "first proposal within 0.05": len(first),
            "median own F1": median(row["own F1"] for row in rows),
            "median first F1": median(row["first F1"] for row in rows),
            "median sequence F1": median(row["sequence F1"] for row in rows),
            "median tree F1": median(trees) if trees else None,
        }
    ]


def shape(text: str) -> tuple[Any, ...]:
    """Return the operator, types and absences of a proposal's text."""
    head = text.splitlines()[0]
    items = re.findall(r"NOT\((\w+) \w+\)|(\w+) [a-d]\b", head)
    types = tuple(present for _, present in items if present)
    absences = tuple(
        (missing, sum(1 for _, present in items[:at] if present))
        for at, (missing, _) in enumerate(items)
        if missing
    )
    return "AND" if "AND(" in head else "SEQ", types, absences


def conditions_found(case: Planted, text: str) -> str:
    """Return how many of the planted conditions a proposal has, and how many others."""
    known = set()
    for a, attribute, sign, right in re.findall(r"([a-d])\.(\w+) ([<>=]) ('\w+'|[\w.-]+)", text):
        if re.fullmatch(r"[a-d]\.\w+", right):
            known.add((attribute, sign, a, right[0]))
        elif sign == "=":
            known.add((attribute, sign, a, right.strip("'")))
        else:
            known.add((attribute, sign, a))
    more = len(known - case.narrowed)
    return f"{len(known & case.narrowed)} of {len(case.narrowed)}" + (f" +{more}" if more else "")


def _windows(case: Planted, split: float) -> Iterator[list[str]]:
    """Yield the types before each earlier incident, in order."""
    for incident in case.incidents[case.incidents["time"] < split].itertuples():
        frame = case.frame
        inside = (frame["time"] > incident.time - WITHIN) & (frame["time"] <= incident.time)
        if case.by:
            inside &= frame["machine"] == incident.machine
        yield frame.loc[inside, "type"].tolist()


def _frequent(case: Planted, split: float) -> pd.DataFrame:
    """Return the alarms of the most frequent sequence of two or three types."""
    counts: Counter[tuple[str, ...]] = Counter()
    for types in _windows(case, split):
        short = types[-25:]
        for size in (2, 3):
            counts.update({*combinations(short, size)})
    best = max(counts, key=lambda each: (counts[each], len(each), each))
    items = ", ".join(f"{name} {variable}" for name, variable in zip(best, "abc", strict=False))
    by = f"\nPARTITION BY {case.by}" if case.by else ""
    return alarms_of(case, f"PATTERN SEQ({items})\nWITHIN 10 minutes{by}", split)


def _tree(case: Planted, split: float) -> float | None:
    """Return the F1 of the events at which a decision tree expects an incident."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        return None
    parts = []
    groups = case.frame.groupby("machine") if case.by else [(None, case.frame)]
    for key, own in groups:
        times = own["time"].to_numpy()
        since = np.searchsorted(times, times - WITHIN)
        counts = np.zeros((len(own), 0))
        for name in sorted(case.frame["type"].unique()):
            sums = np.append(0, np.cumsum(own["type"] == name))
            counts = np.column_stack([counts, sums[1:] - sums[since]])
        labels = case.incidents
        if case.by:
            labels = labels[labels["machine"] == key]
        at = np.sort(labels["time"].to_numpy())
        near = np.searchsorted(at, times + WITHIN, "right") > np.searchsorted(at, times)
        parts.append((times, counts, near, np.full(len(own), -1 if key is None else key)))
    times, counts, near, keys = (np.concatenate(each) for each in zip(*parts, strict=True))
    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=10, random_state=0)
    before = times < split
    tree.fit(counts[before], near[before])
    likely = tree.predict_proba(counts)[:, -1]
    # The least probability that is an alarm is the best one on the earlier events.
    bounds = np.unique(likely[before])
    hits = np.array([(near & before & (likely >= bound)).sum() for bound in bounds])
    alarms = np.array([(before & (likely >= bound)).sum() for bound in bounds])
    least = bounds[np.argmax(2 * hits / (alarms + near[before].sum()))]
    alarm = (likely >= least) & ~before
    frame = pd.DataFrame({"match_end": times[alarm], "key": keys[alarm]}).drop_duplicates()
    return alarms_score(case, frame, split).f1


def intrusions() -> list[dict[str, Any]]:
    """Learn from three recorded attacks, and judge on the fourth."""
    recordings = ("psexec", "smbexec", "wmic_backdoor", "dcsync")
    # What the intruder's own programs are started with: the incidents, not part of the stream.
    frames = {name: intrusion(name) for name in recordings}
    rows = []
    for left_out in recordings:
        order = [name for name in recordings if name != left_out] + [left_out]
        parts, times = [], []
        for at, name in enumerate(order):
            frame = frames[name].copy()
            begin = frame["time"].min()
            frame["time"] = (
                pd.Timestamp("2020-09-01") + pd.Timedelta(hours=at) + (frame["time"] - begin)
            )
            is_incident = (frame["type"] == "sysmon 1") & frame["image"].isin(
                ["whoami.exe", "net.exe", "net1.exe"]
            )
            times += frame.loc[is_incident, "time"].tolist()
            parts.append(frame[~is_incident])
        stream = events(
            pd.concat(parts)[["time", "type", "image", "parent_image", "logon_type", "machine"]],
            time="time",
            type="type",
        )
        began = time.perf_counter()
        learned = learn(stream, times, within="1 minute", progress=False)
        rows.append(_row(left_out, len(times), learned, time.perf_counter() - began))
    return rows


def traffic() -> list[dict[str, Any]]:
    """Learn what is before congestion: at each of the busiest segments of a city, and at three."""
    path = folder() / "aarhus-traffic"
    frame = pd.read_csv(path / "traffic_2014-09-01_07.csv.gz", parse_dates=["timestamp"])
    sensors = pd.read_csv(path / "sensors.csv").set_index("report_id")
    totals = frame.groupby("report_id")["vehicle_count"].sum()
    rows = []
    for title, segments in (("each of 40", 40), ("one of 12", 12)):
        part = frame[frame["report_id"].isin(totals.nlargest(segments).index)].copy()
        free = part["report_id"].map(sensors["ndt_in_kmh"])
        part["share"] = (part["avg_speed"] / free).round(3)
        is_slow = part["share"] < 0.5
        begins = is_slow & ~is_slow.groupby(part["report_id"]).shift(1, fill_value=False)
        incidents = part.loc[begins, ["timestamp", "report_id"]]
        # Readings of the moment itself would announce nothing: incidents are a second earlier.
        incidents["time"] = incidents.pop("timestamp") - pd.Timedelta(seconds=1)
        columns = part[["timestamp", "report_id", "share", "vehicle_count"]]
        if segments == 40:
            cases = [(title, events(columns, time="timestamp"), incidents, "report_id")]
        else:
            stream = events(columns, time="timestamp", type="report_id")
            often = incidents["report_id"].value_counts().index[:3]
            cases = [
                (f"{title}: {one}", stream, incidents[incidents["report_id"] == one], None)
                for one in often
            ]
        for name, stream, own, by in cases:
            began = time.perf_counter()
            learned = learn(stream, own, within="20 minutes", by=by, progress=False)
            rows.append(_row(name, len(own), learned, time.perf_counter() - began))
    return rows


def _row(name: str, incidents: int, learned: Learned, seconds: float) -> dict[str, Any]:
    best = learned.best
    return {
        "judged on": name,
        "incidents": incidents,
        "later": learned.incidents[1],
        "base rate": learned.chance.share,
        "proposals": len(learned.proposals),
        "precision": best.precision if best else None,
        "recall": best.recall if best else None,
        "F1": best.f1 if best else None,
        "seconds": seconds,
        "first": best.text.replace("\n", " ") if best else "",
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, judge and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", StreamWarning)
    print(machine())
    rows = generated(range(options.first, options.first + options.seeds))
    tables = [
        ("learning", "Planted patterns", rows),
        ("learning_totals", "Planted patterns, in all", totals(rows)),
    ]
    for name, title, data, measure in (
        (
            "learning_intrusion",
            "Three attacks learned, one left out",
            "windows-intrusion",
            intrusions,
        ),
        ("learning_traffic", "Congestion at a segment", "aarhus-traffic", traffic),
    ):
        if reason := absent(data):
            print(f"\n{title}: left out, {reason}")
            continue
        tables.append((name, title, measure()))
    for name, title, table in tables:
        show(title, table)
        write(options.out, name, table)


if __name__ == "__main__":
    main()
