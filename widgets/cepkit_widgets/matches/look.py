"""The details of one match: each condition with its values, and the events around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cepkit.columnar.results.shown import moment_text
from cepkit.diagnosis.event_table import EventTable
from cepkit.diagnosis.findings import Binding, Finding, Inspector
from cepkit.diagnosis.measures import Measures, gaps
from cepkit.diagnosis.words import duration_text, value_text
from cepkit.pattern import requirements as req
from cepkit.pattern.conditions import Comparison
from cepkit.pattern.evaluation.columns import value
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import next_in, normal_form
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.tables import count_text, number
from cepkit_widgets.matches.known import Ints, Known

_AROUND = 0.15
"""The margin on both sides, as a share of the match's length."""
_LEAST = 1_000_000
"""The least margin on both sides, in microseconds."""
_MOST_EVENTS = 240
"""How many events around a match are drawn: with more they hide each other, and take long."""
_FIRST_EVENTS = 60
"""How many events are shown where there is no match."""
_MOST_LANES = 9


@dataclass(frozen=True, slots=True)
class Condition:
    """A requirement of the pattern, evaluated for one match.

    Attributes:
        text: In the pattern's words.
        values: With the values of the match.
        margin: By how much it held, in words; empty if that is no quantity.
    """

    text: str
    values: str
    margin: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """An event on the time line.

    Attributes:
        event: Its number.
        at: Seconds since the first event of the match.
        variable: The variable that binds it; None if it is not in the match.
        text: Its description, in lines.
    """

    event: int
    at: float
    lane: int
    variable: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """A stretch of a lane where the pattern allows no event.

    Attributes:
        begin: Where it begins, in seconds since the first event of the match.
        end: Where it ends.
        text: What must not be there.
    """

    lane: int
    begin: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class Around:
    """The events of a match in time, among those around it.

    Attributes:
        lanes: The label of each lane: a type, or "other types".
        events: In the order of time.
        begin: Where the time line begins, in seconds since the first event of the match.
        end: Where it ends.
        start: The time of the first event of the match.
        left_out: How many of the events around it are left out because there are too many.
        absences: Where NOT allows no event.
    """

    lanes: tuple[str, ...]
    events: tuple[Seen, ...]
    begin: float
    end: float
    start: str
    left_out: int
    absences: tuple[Nothing, ...] = ()


class Looker:
    """Computes the details of matches; it reads the stream once.

    Args:
        known: The matches.
        hidden: Attributes that the texts of events leave out.
    """

    def __init__(self, known: Known, hidden: Sequence[str] = ()) -> None:
        self._known, self._hidden = known, hidden
        query = known.query
        self._table = EventTable.of(known.columns, query)
        self._inspectors = [
            Inspector(Measures(self._table, branch), self.name) for branch in normal_form(query)
        ]
        self.columns = known.columns

    def name(self, event: int) -> str:
        """Return the name of an event for sentences."""
        if not self._known.place:
            return f"row {int(self.columns.source_rows(np.array([event]))[0])}"
        kind = self.columns.type_names[int(self.columns.types[event])]
        return f"{kind} at {self.moment(int(self.columns.ts[event]))}"

    def moment(self, microseconds: int) -> str:
        """Return a time as a text."""
        if self._known.timed:
            return moment_text(pd.Timestamp(microseconds, unit="us"))
        return f"{microseconds / 1e6:,.12g} s"

    def conditions(self, binding: Binding) -> tuple[Condition, ...]:
        """Return the pattern's requirements, evaluated for a match."""
        best: list[Finding] = []
        chosen = self._inspectors[0]
        for inspector in self._inspectors:
            if set(inspector.measures.branch.variables) != set(binding):
                continue
            found = inspector.findings(binding)
            if not best or all(finding.holds is not False for finding in found):
                best, chosen = found, inspector
        return tuple(
            self._condition(finding, chosen.measures, binding)
            for finding in best
            if not isinstance(finding.requirement, req.OfType)
        )

    def _condition(self, finding: Finding, measures: Measures, binding: Binding) -> Condition:
        text = req.text_of(finding.requirement)
        if self._known.place and _counts_events(finding.requirement):
            return Condition(text, f"counted {self._known.place}")
        return Condition(text, finding.detail, self._margin(finding.requirement, measures, binding))

    def _margin(self, requirement: req.Requirement, measures: Measures, binding: Binding) -> str:
        match requirement:
            case req.Holds(Comparison(operator) as condition) if operator != "=":
                if any(len(events) > 1 for events in binding.values()):
                    return ""
                rows = {v: np.array(events, dtype=np.int64) for v, events in binding.items()}
                read = self._table.reader(rows)
                rewritten = measures.rewritten(condition)
                if not isinstance(rewritten, Comparison):
                    return ""
                by = min((abs(float(gap.flat[0])) for gap in gaps(rewritten, read)), default=None)
                if by is None or not np.isfinite(by):
                    return ""
                if value(rewritten.left, read).kind in ("timestamp", "duration"):
                    return f"by {duration_text(int(by))}"
                return f"by {number(float(f'{by:.4g}'))}"
            case req.Before(first, second):
                ts = self._table.ts
                apart = min(ts[e] for e in binding[second]) - max(ts[e] for e in binding[first])
                return f"by {duration_text(int(apart))}"
            case req.Within(window):
                limit = measures.limit(requirement, len(binding))
                clock = self._table.clock(limit.clock)
                events = [event for bound in binding.values() for event in bound]
                left = limit.most - int(np.ptp(clock[events]))
                if isinstance(window, TimeWindow):
                    return f"{duration_text(left)} left"
                return f"{count_text(left, 'event')} left"
            case _:
                return ""

    def event_text(self, event: int) -> str:
        """Return an event in lines: its type, its time, and the attributes in conditions."""
        columns = self._known.columns
        kind = columns.type_names[int(columns.types[event])]
        lines = [f"{kind}, {self.moment(int(columns.ts[event]))}"]
        at = np.array([event])
        lines += [
            f"{name} = {value_text(columns.attributes[name].take(at))}"
            for name in self._known.read
            if name not in self._hidden
        ]
        return "\n".join(lines)

    def around(self, binding: Binding) -> Around:
        """Return a match in time, among the events around it; of none, the first events."""
        columns = self._known.columns
        bound = {event: v for v, events in binding.items() for event in events}
        ordered = sorted(bound, key=lambda event: (columns.ts[event], event))
        shown = ordered or [0, min(len(columns.ts), _FIRST_EVENTS) - 1]
        start, last = int(columns.ts[shown[0]]), int(columns.ts[shown[-1]])
        more = margin_of(last - start)
        low = int(np.searchsorted(columns.ts, start - more, side="left"))
        high = int(np.searchsorted(columns.ts, last + more, side="right"))
        others = np.setdiff1d(np.arange(low, high), list(bound))
        left_out = max(0, len(others) - _MOST_EVENTS)
        if left_out:
            others = self._some(others)
        absences = self._absences(binding)
        lanes = self._lanes(ordered, others, [name for name, *_ in absences])
        numbers = {name: i for i, name in enumerate(lanes)}
        seen = []
        for event in sorted((*ordered, *map(int, others)), key=lambda e: (columns.ts[e], e)):
            kind = columns.type_names[int(columns.types[event])]
            at = (int(columns.ts[event]) - start) / 1e6
            lane = numbers.get(kind, len(lanes) - 1)
            seen.append(Seen(event, at, lane, bound.get(event), self.event_text(event)))
        return Around(
            lanes,
            tuple(seen),
            -more / 1e6,
            (last - start + more) / 1e6,
            self.moment(start),
            left_out,
            tuple(
                Nothing(numbers[name], (begin - start) / 1e6, (end - start) / 1e6, text)
                for name, begin, end, text in absences
                if name in numbers
            ),
        )

    def _absences(self, binding: Binding) -> list[tuple[str, int, int, str]]:
        """Return the type, the first and the last moment, and the text of each single NOT."""
        ts, found = self._known.columns.ts, []
        for inspector in self._inspectors:
            branch = inspector.measures.branch
            if {*branch.variables} != {*binding}:
                continue
            first = {v: int(min(ts[e] for e in events)) for v, events in binding.items()}
            last = {v: int(max(ts[e] for e in events)) for v, events in binding.items()}
            window = branch.window
            room = window.most if isinstance(window, TimeWindow) else 0
            for event, *others in branch.absences:
                if others or event.beside or event.earlier_than or event.types is None:
                    continue
                before = [last[v] for v in binding if (v, event.variable) in branch.order]
                after = [first[v] for v in binding if (event.variable, v) in branch.order]
                begin = max(before, default=max(last.values()) - room)
                end = min(after, default=min(first.values()) + room)
                text = req.text_of(req.absent_of(branch, event))
                found += [(name, begin, end, text) for name in sorted(event.types) if end > begin]
        return found

    def _some(self, others: Ints) -> Ints:
        """Return as many events as fit, those of the pattern's types first."""
        columns = self._known.columns
        named = [name in self._named for name in columns.type_names]
        mine = np.array(named, dtype=np.bool_)[columns.types[others]]
        first, then = others[mine], others[~mine]
        room = max(0, _MOST_EVENTS - len(first))
        return np.sort(np.concatenate((_spread(first, _MOST_EVENTS), _spread(then, room))))

    @cached_property
    def _named(self) -> tuple[str, ...]:
        """The types that the pattern names, in its order."""
        events = events_of(self._known.query.written)
        return tuple(dict.fromkeys(name for e in events for name in sorted(e.types or ())))

    def _lanes(self, ordered: list[int], others: Ints, absent: list[str]) -> tuple[str, ...]:
        """Return the types of the match, those that the pattern names, and the most frequent."""
        columns = self._known.columns
        own = [columns.type_names[int(columns.types[event])] for event in ordered] + absent
        there = Counter(columns.type_names[int(code)] for code in columns.types[others])
        named = [name for name in self._named if name in there]
        every = list(dict.fromkeys((*own, *named, *(name for name, _ in there.most_common()))))
        if len(every) <= _MOST_LANES:
            return tuple(every)
        return (*every[: max(_MOST_LANES - 1, len(dict.fromkeys(own)))], "other types")


def margin_of(length: int) -> int:
    """Return the margin on both sides of a match, in microseconds."""
    return max(int(length * _AROUND), _LEAST)


def _counts_events(requirement: req.Requirement) -> bool:
    """Return whether a requirement depends on all events of the stream."""
    match requirement:
        case req.SideBySide() | req.Within(CountWindow()):
            return True
        case req.Holds(condition):
            return next_in(condition) is not None
        case _:
            return False


def _spread(events: Ints, most: int) -> Ints:
    """Return at most `most` events, evenly spread."""
    if len(events) <= most:
        return events
    return events[np.linspace(0, len(events) - 1, most).astype(np.int64)]
