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
VARIABLES = "abcd"
ATTRIBUTES = ("x", "y", "n", "colour", "user", "z", "site", "level", "flag")
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
        case = _Draw(np.random.default_rng([seed, attempt])).case()
        if own_score(case).f1 >= _LEAST_F1:
            return case
    raise AssertionError("no such pattern announces its incidents")


def own_score(case: Planted, since: float = 0.0) -> CalibratedRow:
    """Return what the planted pattern scores on the events from a time on."""
    return alarms_score(case, alarms_of(case, case.text, since), since)


def alarms_of(case: Planted, text: str, since: float) -> pd.DataFrame:
    """Return the distinct ends of a pattern's matches, and their keys if there are."""
    frame = case.frame
    stream = events(frame[frame["time"] >= since], time="time", type="type", unit="s")
    value = "a.machine" if case.by else "a.time"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)
        matches = detect(stream, f"{text}\nRETURN {value} AS key")
    assert isinstance(matches, Matches)
    return matches.to_pandas()[["match_end", *(["key"] if case.by else [])]].drop_duplicates()


def alarms_score(case: Planted, alarms: pd.DataFrame, since: float) -> CalibratedRow:
    """Return what alarms score on the incidents from a time on."""
    labels = case.incidents[case.incidents["time"] >= since]
    hit: set[int] = set()
    true = 0
    for row in alarms.itertuples():
        near = (labels["time"] >= row.match_end) & (labels["time"] <= row.match_end + WITHIN)
        if case.by:
            near &= labels["machine"] == row.key
        true += bool(near.any())
        hit |= {*labels.index[near]}
    return CalibratedRow((), len(alarms), len(hit), len(labels) - len(hit), len(alarms) - true)


@dataclass(frozen=True)
class _Condition:
    """A condition: of a number or a category of one event, or of two events."""

    kind: str
    attribute: str
    sign: str
    left: int
    right: Any

    def text(self) -> str:
        """Return it as a pattern writes it."""
        right = {"number": f"{self.right}", "category": f"'{self.right}'"}.get(self.kind)
        if right is None:
            right = f"{VARIABLES[self.right]}.{self.attribute}"
        return f"{VARIABLES[self.left]}.{self.attribute} {self.sign} {right}"

    def about(self) -> tuple[str, ...]:
        """Return what a proposal should have as well: all but a number."""
        parts = (self.attribute, self.sign, VARIABLES[self.left])
        if self.kind == "number":
            return parts
        return (*parts, self.right if self.kind == "category" else VARIABLES[self.right])


class _Draw:
    """A draw of a stream."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.types = [f"T{i}" for i in range(rng.integers(7, 13))]
        self.size = int(rng.integers(2, 5))
        self.operator = "SEQ" if rng.random() < 0.7 else "AND"
        self.chosen = [str(t) for t in rng.choice(self.types, self.size, replace=False)]
        if self.operator == "AND":
            self.chosen.sort(key=lambda name: sorted(self.types).index(name))
        others = [t for t in self.types if t not in self.chosen]
        self.absences: tuple[tuple[str, int], ...] = ()
        if rng.random() < 0.35:
            place = int(rng.integers(0, self.size)) if self.operator == "SEQ" else 0
            self.absences = ((str(rng.choice(others)), place),)
        self.by = "machine" if rng.random() < 0.5 else None
        self.machines = int(rng.integers(3, 12)) if self.by else 1
        self.number = round(20 * 10 ** rng.uniform(0, 1))
        kinds = list(rng.permutation(["number", "category", "pair"]))[: int(rng.integers(0, 3))]
        self.conditions = [self._condition(kind) for kind in kinds or ["number"] * (self.size == 2)]
        self.span = self.number * WITHIN * 14 / self.machines
        self.rows: list[tuple[Any, ...]] = []
        self.cleared: list[tuple[int, float, float]] = []

    def _condition(self, kind: str) -> _Condition:
        rng, left = self.rng, int(self.rng.integers(0, self.size))
        if kind == "number":
            sign = str(rng.choice(["<", ">"]))
            bound = int(rng.choice([60, 70, 80] if sign == ">" else [20, 30, 40]))
            return _Condition(kind, "x", sign, left, bound)
        if kind == "category":
            return _Condition(kind, "colour", "=", left, str(rng.choice(COLOURS)))
        left, right = sorted(rng.choice(self.size, 2, replace=False).tolist())
        attribute, sign = [("y", "<"), ("user", "="), ("n", ">")][int(rng.integers(0, 3))]
        return _Condition(kind, attribute, sign, left, right)

    def case(self) -> Planted:
        """Return the stream and its incidents."""
        rng = self.rng
        self._add_background()
        slots = rng.permutation(int(self.span * self.machines / (4 * WITHIN)))
        places = iter(
            [(int(s) % self.machines, (int(s) // self.machines * 4 + 1) * WITHIN) for s in slots]
        )
        incidents = []
        for _ in range(self.number):
            machine, begin = next(places)
            chance = rng.random()
            if chance < 0.08:  # without the pattern
                incidents.append((begin + float(rng.uniform(0, 2 * WITHIN)), machine))
                continue
            end = self._plant(machine, begin, "missing" if chance < 0.12 else None)
            lag = float(rng.uniform(0.5, 6)) * MINUTE + float(rng.normal(0, 10))
            incidents.append((end + max(1.0, lag), machine))
        violations = ["missing"] + [each.kind for each in self.conditions]
        violations += ["order"] if self.operator == "SEQ" else []
        violations += ["absence", "absence"] if self.absences else []
        for _ in range(int(self.number * 1.5)):
            self._plant(*next(places), str(rng.choice(violations)))
        for _ in range(int(self.number * 0.05)):  # no incident follows
            self._plant(*next(places), None)
        return self._planted(incidents)

    def _planted(self, incidents: list[tuple[float, int]]) -> Planted:
        frame = pd.DataFrame(self.rows, columns=["time", "type", "machine", *ATTRIBUTES])
        for machine, low, high in self.cleared:
            inside = (frame["machine"] == machine) & (frame["type"] == self.absences[0][0])
            frame = frame[~(inside & (frame["time"] > low) & (frame["time"] < high))]
        frame["time"] = frame["time"].round(3)
        frame = frame.sort_values("time", kind="stable").reset_index(drop=True)
        labels = pd.DataFrame(incidents, columns=["time", "machine"]).sort_values("time")
        if self.by is None:
            frame, labels = frame.drop(columns="machine"), labels[["time"]]
        return Planted(
            frame,
            labels.reset_index(drop=True),
            self.by,
            self._text(),
            (self.operator, tuple(self.chosen), self.absences),
            frozenset(each.about() for each in self.conditions),
        )

    def _add_background(self) -> None:
        rng = self.rng
        for name in self.types:
            rate = float(rng.uniform(0.2, 2.0))
            if name in self.chosen:
                rate = float(rng.uniform(0.1, 0.4 if len(self.conditions) < 2 else 1.0))
            for machine in range(self.machines):
                for at in rng.uniform(0, self.span, rng.poisson(rate * self.span / WITHIN)):
                    self.rows.append((float(at), name, machine, *self._values().values()))

    def _values(self) -> dict[str, Any]:
        rng = self.rng
        return {
            "x": round(float(rng.uniform(0, 100)), 2),
            "y": round(float(rng.uniform(0, 100)), 2),
            "n": int(rng.integers(0, 50)),
            "colour": str(rng.choice(COLOURS, p=[0.3, 0.3, 0.2, 0.2])),
            "user": f"u{rng.integers(0, 12)}",
            "z": round(float(rng.normal(0, 1)), 3),
            "site": f"s{rng.integers(0, 6)}",
            "level": int(rng.integers(0, 5)),
            "flag": bool(rng.random() < 0.4),
        }

    def _plant(self, machine: int, begin: float, violated: str | None) -> float:
        """Add the events of the pattern, but for one violation; return the time of the last."""
        rng, size = self.rng, self.size
        times = begin + np.sort(rng.uniform(0, 5 * MINUTE, size)) + np.arange(size)
        order = list(range(size)) if self.operator == "SEQ" else rng.permutation(size).tolist()
        if violated == "order":
            order.reverse()
        events = [self._values() for _ in range(size)]
        for condition in self.conditions:
            self._set(condition, events, wrong=violated == condition.kind)
        for absent, place in self.absences:
            low, high = times[-1] - 8 * MINUTE, times[0]
            if self.operator == "SEQ" and place:
                low, high = times[place - 1], times[place]
            if violated == "absence":
                at = float(rng.uniform(low, high))
                self.rows.append((at, absent, machine, *self._values().values()))
            else:
                self.cleared.append((machine, float(low), float(high)))
        lost = int(rng.integers(0, size)) if violated == "missing" else -1
        for place, which in enumerate(order):
            if which != lost:
                row = (float(times[place]), self.chosen[which], machine, *events[which].values())
                self.rows.append(row)
        return float(times[-1])

    def _set(self, condition: _Condition, events: list[dict[str, Any]], *, wrong: bool) -> None:
        """Give the events values by which a condition holds, or does not."""
        rng, name = self.rng, condition.attribute
        own = events[condition.left]
        if condition.kind == "number":
            is_low = (condition.sign == "<") != wrong
            limits = (0, condition.right) if is_low else (condition.right, 100)
            own[name] = round(float(rng.uniform(*limits)), 2)
        elif condition.kind == "category":
            rest = [each for each in COLOURS if each != condition.right]
            own[name] = str(rng.choice(rest)) if wrong else condition.right
        elif condition.sign == "=":
            events[condition.right][name] = f"v{rng.integers(0, 9)}" if wrong else own[name]
        else:
            low, high = sorted((own[name], events[condition.right][name]))
            ascending = (condition.sign == "<") != wrong
            own[name], events[condition.right][name] = (
                (low, high + 1) if ascending else (high + 1, low)
            )

    def _text(self) -> str:
        items = [f"{name} {VARIABLES[at]}" for at, name in enumerate(self.chosen)]
        inner = f"AND({', '.join(items)})"
        if self.operator == "AND":
            items = [inner]
        for name, place in self.absences:
            items.insert(place, f"NOT({name} n0)")
        sequence = f"SEQ({', '.join(items)})"
        alone = self.operator == "AND" and not self.absences
        lines = [f"PATTERN {inner if alone else sequence}"]
        if self.conditions:
            lines.append("WHERE " + " AND ".join(each.text() for each in self.conditions))
        lines += ["WITHIN 8 minutes", *([f"PARTITION BY {self.by}"] if self.by else [])]
        return "\n".join(lines)
