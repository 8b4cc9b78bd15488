"""A run as data: what each event of a stream made a mechanism do, and what it has found.

One step is one event that arrives, so mechanisms over the same stream go in step. Of long streams
the first steps are kept, and the totals are those of the whole run. docs/trace.md has the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepkit.automata.clauses import Clause
from cepkit.automata.diagram import Diagram
from cepkit.automata.journal import Counts
from cepkit.automata.operations import Operation

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class EventTable:
    """The events of a trace, in stream order.

    Attributes:
        id: For each its arrival number: how many events of the stream came before it.
        time: Its time in microseconds since 1970 UTC.
        type: Its type.
        attributes: What the pattern reads; None where a value is missing. Times are texts.
    """

    id: tuple[int, ...]
    time: tuple[int, ...]
    type: tuple[str, ...]
    attributes: Mapping[str, tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.id)

    def name(self, event: int) -> str:
        """Return an event as sentences call it: ``B 7``, its type and arrival number."""
        return f"{self.type[event]} {self.id[event]}"


@dataclass(frozen=True, slots=True)
class Step:
    """What one event caused.

    Attributes:
        number: Its place in the trace, from 0.
        event: The event, None for the end of the stream.
        operations: What happened, in order.
    """

    number: int
    event: int | None
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class TracedMatch:
    """A match.

    Attributes:
        step: The step at which it was certain.
        instance: The instance that became it.
        events: For each variable its event, or the members of its set in stream order.
    """

    step: int
    instance: int
    events: Mapping[str, int | tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Totals:
    """The counters at the end of the whole run, and the most at any moment of it."""

    counts: Counts
    peak_instances: int
    peak_stored: int
    events: int


@dataclass(frozen=True, slots=True)
class Truncated:
    """A trace that does not show all: so many of so many steps."""

    shown: int
    of: int


@dataclass(frozen=True, slots=True)
class Trace:
    """A run of a mechanism over a stream.

    Attributes:
        pattern: The query, printed.
        clauses: The parts of that text that operations speak of.
        events: The events of the steps that are kept.
        mechanism: The name of the mechanism.
        plan: What it followed, printed; empty where it follows nothing.
        diagram: Its nodes and edges.
        steps: What happened.
        counters: After each step the counters.
        matches: The matches of the steps that are kept.
        totals: Counters of the whole run.
        truncated: What is left out, if anything.
    """

    pattern: str
    clauses: tuple[Clause, ...]
    events: EventTable
    mechanism: str
    plan: str
    diagram: Diagram
    steps: tuple[Step, ...]
    counters: tuple[Counts, ...]
    matches: tuple[TracedMatch, ...]
    totals: Totals
    truncated: Truncated | None = None
    variables: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The mechanism and its plan: ``chain-nfa c → b → a``."""
        return f"{self.mechanism} {self.plan}".rstrip()

    @property
    def final(self) -> bool:
        """Whether the last step is the end of the stream."""
        return bool(self.steps) and self.steps[-1].event is None

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the trace as JSON (docs/trace.md), and write it to `path` if one is given."""
        from cepkit.automata.trace_json import encode

        text = json.dumps(encode(self), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Trace:
        """Return the trace of a JSON text, or of a file.

        Args:
            source: What `to_json` gave, or a path where it was written.

        Raises:
            TraceError: It is no trace of a version that is known.
        """
        from cepkit.automata.trace_json import decode, load

        return decode(load(source))
