"""Streams with a planted pattern before incidents, for the benchmark of learning.

A draw has background events of all types, incidents with the pattern before them, incidents
without it, events of the pattern that were lost, and near misses: all but one requirement of the
pattern, and no incident. What the pattern scores itself is part of the case.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cepkit import detect, events
from cepkit.calibration.result import CalibratedRow
from cepkit.columnar.results.matches import Matches
from cepkit.stream.warnings import StreamWarning

MINUTE = 60.0
WITHIN = 10 * MINUTE
_LEAST_F1 = 0.6
"""A pattern that announces its incidents worse is drawn anew."""
COLOURS = ("red", "green", "blue", "grey")


@dataclass(frozen=True)
class Planted:
    """A stream, its incidents, and the pattern before them.

    Attributes:
        frame: Columns time (seconds), type, machine, x, y, n, colour, user.
        incidents: Columns time, machine.
        by: "machine", or None.
        text: The pattern.
        shape: Its operator, types in order, and absent types with their places.
        narrowed: What its conditions are about: attribute, sign, variables.
    """

    frame: pd.DataFrame
    incidents: pd.DataFrame
    by: str | None
    text: str
    shape: tuple[Any, ...]
    narrowed: frozenset[tuple[str, ...]]


def planted(seed: int) -> Planted:
    """Return the stream of a seed."""
    for attempt in range(1_000):
        case = _drawn(np.random.default_rng([seed, attempt]))
        if own_score(case).f1 >= _LEAST_F1:
            return case
    raise AssertionError("no such pattern announces its incidents")


def own_score(case: Planted, since: float = 0.0) -> CalibratedRow:
    """Return what the planted pattern scores on the events from a time on."""
    frame, incidents = case.frame, case.incidents
    stream = events(frame[frame["time"] >= since], time="time", type="type", unit="s")
    value = "a.machine" if case.by else "a.time"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)
        matches = detect(stream, f"{case.text}\nRETURN {value} AS key, a.time AS first")
    assert isinstance(matches, Matches)
    alarms = matches.to_pandas()[["match_end", *(["key"] if case.by else [])]].drop_duplicates()
    labels = incidents[incidents["time"] >= since]
    hit: set[int] = set()
    true = 0
    for row in alarms.itertuples():
        near = (labels["time"] >= row.match_end) & (labels["time"] <= row.match_end + WITHIN)
        if case.by:
            near &= labels["machine"] == row.key
        true += bool(near.any())
        hit |= {*labels.index[near]}
    false = len(alarms) - true
    return CalibratedRow((), len(alarms), len(hit), len(labels) - len(hit), false)


def _drawn(rng: np.random.Generator) -> Planted:
    types = [f"T{i}" for i in range(rng.integers(7, 13))]
    size = int(rng.integers(2, 5))
    operator = "SEQ" if size == 1 or rng.random() < 0.7 else "AND"
    chosen = [str(t) for t in rng.choice(types, size, replace=False)]
    if operator == "AND":
        chosen.sort()
    others = [t for t in types if t not in chosen]
    absence: tuple[str, int] | None = None
    if rng.random() < 0.35:
        place = int(rng.integers(0, size)) if operator == "SEQ" else 0
        absence = (str(rng.choice(others)), place)
    by = "machine" if rng.random() < 0.5 else None
    machines = int(rng.integers(3, 12)) if by else 1
    number = int(round(20 * 10 ** rng.uniform(0, 1)))
    conditions: list[tuple[Any, ...]] = []
    kinds = list(rng.permutation(["number", "category", "pair"]))[: int(rng.integers(0, 3))]
    if size == 2 and not kinds:
        kinds = ["number"]
    for kind in kinds:
        if kind == "number":
            attribute = str(rng.choice(["x", "y"]))
            sign = str(rng.choice(["<", ">"]))
            bound = (
                float(rng.choice([60, 70, 80])) if sign == ">" else float(rng.choice([20, 30, 40]))
            )
            conditions.append(("number", attribute, sign, int(rng.integers(0, size)), bound))
        elif kind == "category":
            conditions.append(
                ("category", "colour", "=", int(rng.integers(0, size)), str(rng.choice(COLOURS)))
            )
        else:
            left, right = sorted(rng.choice(size, 2, replace=False).tolist())
            attribute, sign = [("y", "<"), ("user", "="), ("n", ">")][int(rng.integers(0, 3))]
            conditions.append(("pair", attribute, sign, left, right))
    rates = {t: float(rng.uniform(0.2, 2.0)) for t in types}  # in ten minutes
    for t in chosen:
        rates[t] = float(rng.uniform(0.1, 0.4) if len(conditions) < 2 else rng.uniform(0.2, 1.0))
    span = number * WITHIN * 14 / machines
    rows: list[tuple[Any, ...]] = []

    def values() -> list[Any]:
        return [
            round(float(rng.uniform(0, 100)), 2),
            round(float(rng.uniform(0, 100)), 2),
            int(rng.integers(0, 50)),
            str(rng.choice(COLOURS, p=[0.3, 0.3, 0.2, 0.2])),
            f"u{rng.integers(0, 12)}",
            round(float(rng.normal(0, 1)), 3),
            f"s{rng.integers(0, 6)}",
            int(rng.integers(0, 5)),
            bool(rng.random() < 0.4),
        ]

    for m in range(machines):
        for t in types:
            count = rng.poisson(rates[t] * span / WITHIN)
            for at in rng.uniform(0, span, count):
                rows.append((float(at), t, m, *values()))
    names = ["x", "y", "n", "colour", "user", "z", "site", "level", "flag"]

    def occurrence(violated: str | None) -> list[tuple[str, float, list[Any]]]:
        """Return the events of the pattern by time since the begin."""
        offsets = np.sort(rng.uniform(0, 5 * MINUTE, size)) + np.arange(size)
        order = list(range(size)) if operator == "SEQ" else rng.permutation(size).tolist()
        if violated == "order":
            order = order[::-1]
        events = [values() for _ in range(size)]
        for condition in conditions:
            kind, attribute, sign = condition[:3]
            place = names.index(attribute)
            wrong = violated == kind
            if kind == "number":
                bound, low = condition[4], (sign == "<") != wrong
                limits = (0, bound) if low else (bound, 100)
                events[condition[3]][place] = round(float(rng.uniform(*limits)), 2)
            elif kind == "category":
                rest = [each for each in COLOURS if each != condition[4]]
                events[condition[3]][place] = str(rng.choice(rest)) if wrong else condition[4]
            else:
                left, right = events[condition[3]], events[condition[4]]
                if sign == "=":
                    right[place] = f"v{rng.integers(0, 9)}" if wrong else left[place]
                else:
                    keeps_number = any(
                        c[0] == "number" and c[1] == attribute and c[3] in condition[3:]
                        for c in conditions
                    )
                    low, high = sorted((left[place], right[place]))
                    if keeps_number:
                        continue
                    if (sign == "<") != wrong:
                        left[place], right[place] = low, high + 1
                    else:
                        left[place], right[place] = high + 1, low
        return [
            (chosen[which], float(offset), events[which])
            for which, offset in zip(order, offsets, strict=True)
        ]

    requirements = ["missing"] + [c[0] for c in conditions]
    if operator == "SEQ":
        requirements.append("order")
    if absence is not None:
        requirements += ["absence"] * 2
    incidents = []
    cleared: list[tuple[int, float, float]] = []

    def plant(m: int, begin: float, violated: str | None, lost: bool = False) -> float:
        events = occurrence(violated)
        ends = [offset for _, offset, _ in events]
        if absence is not None:
            t, place = absence
            last = ends[-1]
            if operator == "SEQ" and place > 0:
                low, high = ends[place - 1], ends[place]
            else:
                low, high = last - 8 * MINUTE, ends[0]
            if violated == "absence":
                rows.append((begin + float(rng.uniform(low, high)), t, m, *values()))
            else:
                cleared.append((m, begin + low, begin + high))
        if violated == "missing" or lost:
            del events[int(rng.integers(0, size))]
        for t, offset, own in events:
            rows.append((begin + offset, t, m, *own))
        return begin + ends[-1]

    slots = rng.permutation(int(span * machines / (4 * WITHIN)))
    places = [(int(s) % machines, (int(s) // machines) * 4 * WITHIN + WITHIN) for s in slots]
    taken = iter(places)
    for _ in range(number):
        m, begin = next(taken)
        chance = rng.random()
        if chance < 0.08:  # without the pattern
            incidents.append((begin + float(rng.uniform(0, 20 * MINUTE)), m))
            continue
        end = plant(m, begin, None, lost=chance < 0.12)
        lag = float(rng.uniform(0.5, 6)) * MINUTE + float(rng.normal(0, 10))
        incidents.append((end + max(1.0, lag), m))
    for _ in range(int(number * 1.5)):
        plant(*next(taken), str(rng.choice(requirements)))
    for _ in range(int(number * 0.05)):  # no incident follows
        plant(*next(taken), None)
    frame = pd.DataFrame(rows, columns=["time", "type", "machine", *names])
    if absence is not None:
        for m, low, high in cleared:
            inside = (frame["machine"] == m) & (frame["type"] == absence[0])
            frame = frame[~(inside & (frame["time"] > low) & (frame["time"] < high))]
    frame["time"] = frame["time"].round(3)
    frame = frame.sort_values("time", kind="stable").reset_index(drop=True)
    labels = pd.DataFrame(incidents, columns=["time", "machine"]).sort_values("time")
    if by is None:
        frame, labels = frame.drop(columns="machine"), labels[["time"]]
    text, narrowed = _text(operator, chosen, absence, conditions, by)
    shape = (operator, tuple(chosen), (absence,) if absence else ())
    return Planted(frame, labels.reset_index(drop=True), by, text, shape, narrowed)


def _text(
    operator: str,
    types: list[str],
    absence: tuple[str, int] | None,
    conditions: list[tuple[Any, ...]],
    by: str | None,
) -> tuple[str, frozenset[tuple[str, ...]]]:
    variables = "abcd"
    items = [f"{t} {variables[at]}" for at, t in enumerate(types)]
    if operator == "AND":
        structure = f"AND({', '.join(items)})"
        if absence is not None:
            structure = f"SEQ(NOT({absence[0]} n0), {structure})"
    else:
        if absence is not None:
            items.insert(absence[1], f"NOT({absence[0]} n0)")
        structure = f"SEQ({', '.join(items)})"
    where, narrowed = [], set()
    for kind, attribute, sign, left, right in conditions:
        a = variables[left]
        if kind == "number":
            where.append(f"{a}.{attribute} {sign} {right:g}")
            narrowed.add((attribute, sign, a))
        elif kind == "category":
            where.append(f"{a}.{attribute} = '{right}'")
            narrowed.add((attribute, sign, a, right))
        else:
            b = variables[right]
            where.append(f"{a}.{attribute} {sign} {b}.{attribute}")
            narrowed.add((attribute, sign, a, b))
    lines = [f"PATTERN {structure}"]
    lines += ["WHERE " + " AND ".join(where)] if where else []
    lines.append("WITHIN 8 minutes")
    lines += [f"PARTITION BY {by}"] if by else []
    return "\n".join(lines), frozenset(narrowed)
