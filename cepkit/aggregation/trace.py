"""What prefix counters did with each event: a trace, as data and as the tables of its source.

A *counter* belongs to a START event, the first of a piece of the sequence, and holds for each
prefix of that piece how many matches of it begin there. A sequence in one piece is plain prefix
counting; in several it is Chop-Connect, where the START of a later piece keeps a snapshot: how many
matches of all pieces before end before it, by the START of the whole.

Source: ASEQ, figures 4, 6, 7 and 10.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

import pandas as pd

from cepkit.pattern.query import Query
from cepkit.statistics.tables import html_table, number, text_table, whole

Action: TypeAlias = Literal["start", "extend", "end", "expire"]
"""What is done: a new counter, a longer prefix, prefixes ended by an event that must be absent, or
a START that is live no more."""

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Saved:
    """A row of a snapshot.

    Attributes:
        start: The START of the whole; "" without a window, where all are one.
        expires: When it is live no more, in microseconds; None for never.
        count: How many matches of the pieces before began there.
    """

    start: str
    expires: int | None
    count: int


@dataclass(frozen=True, slots=True)
class StartCounters:
    """The counters of a START after a step.

    Attributes:
        key: The number of the key whose events these are.
        piece: The number of the piece, from 0.
        start: The START; "" without a window, where one row serves all.
        expires: When it is live no more, in microseconds; None for never.
        counts: How many matches there are of each prefix of the piece.
        snapshot: What came before, of a piece that is not the first.
    """

    key: int
    piece: int
    start: str
    expires: int | None
    counts: tuple[int, ...]
    snapshot: tuple[Saved, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of an event on the counters; an event may do several, one after the other.

    Attributes:
        ts: When, in microseconds.
        event: Its name, as "b2" for the second event of the type of `b`; of an expiry the START's.
        row: Its row in the source; None for an expiry.
        action: What it does.
        position: At which position, from 1; after which one for "end".
        counters: All counters after that.
        count: How many live matches there are then.
        new: How many of them are new.
        trigger: Whether the event can end a match, so that the count is output.
    """

    ts: int
    event: str
    row: int | None
    action: Action
    position: int
    counters: tuple[StartCounters, ...]
    count: int
    new: int
    trigger: bool


@dataclass(frozen=True, slots=True)
class CounterTrace:
    """A trace of prefix counters.

    Attributes:
        query: What was asked.
        pieces: The variables of each piece.
        steps: What happened, in order.
        events: How many events the stream has that were looked at.
    """

    query: Query
    pieces: tuple[tuple[str, ...], ...]
    steps: tuple[Step, ...]
    events: int

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.steps)

    @property
    def output(self) -> tuple[tuple[int, int], ...]:
        """Each trigger's time, and the live matches after all that happened at that time."""
        last = {step.ts: step.count for step in self.steps if step.action != "expire"}
        return tuple((step.ts, last[step.ts]) for step in self.steps if step.trigger)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each counter after each step, and one for a step that leaves none."""
        rows = []
        for i, step in enumerate(self.steps):
            about = {
                "step": i, "ts": step.ts, "event": step.event, "action": step.action,
                "position": step.position, "count": step.count, "new": step.new,
                "trigger": step.trigger,
            }  # fmt: skip
            rows += [
                {**about, **({} if counter is None else asdict(counter))}
                for counter in step.counters or (None,)
            ]
        return pd.DataFrame(rows)

    def to_json(self) -> str:
        """Return all of it as JSON: pattern, pieces and steps, as the attributes say."""
        found = {
            "kind": "prefix-counters",
            "version": 1,
            "pattern": str(self.query),
            "pieces": self.pieces,
            "events": self.events,
            "steps": [asdict(step) for step in self.steps],
        }
        return json.dumps(found, ensure_ascii=False)

    def __repr__(self) -> str:
        return f"{self._title()}\n{text_table(self._head(), self._cells(), left=4)}"

    def _repr_html_(self) -> str:
        return html_table(self._head(), self._cells(), self._title(), left=4)

    def _title(self) -> str:
        cut = " | ".join(" ".join(piece) for piece in self.pieces)
        more = f", the first {_SHOWN} shown" if len(self.steps) > _SHOWN else ""
        return f"Prefix counters of {cut}: {len(self.steps):,} steps{more}"

    def _head(self) -> list[str]:
        prefixes = [" ".join(piece[: n + 1]) for piece in self.pieces for n in range(len(piece))]
        saved = ["before it"] if len(self.pieces) > 1 else []
        return ["time", "event", "does", "counter", "live until", *prefixes, *saved, "matches"]

    def _cells(self) -> list[list[str]]:
        began = self.steps[0].ts if self.steps else 0
        several = any(counter.key for step in self.steps for counter in step.counters)
        cells = []
        for step in self.steps[:_SHOWN]:
            head = [_seconds(step.ts, began), step.event, self._told(step)]
            count = whole(step.count) + (" out" if step.trigger else "")
            for counter in step.counters or (None,):
                cells.append([*head, *self._counted(counter, began, several), count])
                head, count = ["", "", ""], ""
        return cells

    def _told(self, step: Step) -> str:
        variables = [variable for piece in self.pieces for variable in piece]
        place = variables[step.position - 1]
        match step.action:
            case "start":
                return "starts"
            case "extend":
                return f"extends to {place}"
            case "end":
                return f"ends those at {place}"
            case "expire":
                return "expires"

    def _counted(self, counter: StartCounters | None, began: int, several: bool) -> list[str]:
        cells = [""] * (2 + sum(map(len, self.pieces)) + (len(self.pieces) > 1))
        if counter is None:
            return cells
        cells[0] = counter.start or "all"
        if several:
            cells[0] += f" of key {counter.key}"
        cells[1] = "" if counter.expires is None else _seconds(counter.expires, began)
        first = 2 + sum(map(len, self.pieces[: counter.piece]))
        cells[first : first + len(counter.counts)] = map(whole, counter.counts)
        if counter.piece:
            saved = (f"{row.start or 'all'} {whole(row.count)}" for row in counter.snapshot)
            cells[-1] = ", ".join(saved) or "none"
        return cells


def _seconds(ts: int, began: int) -> str:
    return f"{number((ts - began) / 1e6)} s"
