"""The base of traces: the steps of a run as data. `docs/trace.md` has the JSON."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from cepkit.arguments import typed
from cepkit.printing import WithPrinter
from cepkit.stream.codec import decode, encode, keyed
from cepkit.stream.json_text import read_json, write_json
from cepkit.stream.shapes import ShapeError, check_below, check_even
from cepkit.tracing.clauses import Clause
from cepkit.tracing.events import EventTable
from cepkit.tracing.records import Truncated


class Place(NamedTuple):
    """The time of a step in microseconds, and its event, if any."""

    time: int
    event: int | None


class Saved(ABC):
    """Base of all traces: writes JSON and reads it again, by the types of fields."""

    schema: ClassVar[str]
    """The name of its JSON schema."""

    def encoded(self) -> dict[str, Any]:
        """Return the trace as values that JSON can hold."""
        return {"schema": self.schema, **encode(self)}

    @typed
    def to_json(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the trace as JSON (docs/trace.md), and write it to `path` if one is given.

        Args:
            path: The file, whose name ends in .json.
            overwrite: Whether to replace a file that exists; it stays until the new one is whole.

        Raises:
            FileError: The file exists already, or cannot be written.
        """
        return write_json(self.encoded(), path, overwrite=overwrite)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Return the trace of a JSON text, or of a file.

        Args:
            source: The result of `to_json`, or the path of its file.

        Raises:
            TraceError: It is not such a trace, or has an unknown version.
        """
        kinds = cls.__subclasses__() or [cls]
        trace: Self = read_json(source, {kind.schema: partial(_decoded, kind) for kind in kinds})
        return trace

    @abstractmethod
    def check(self) -> None:
        """Check that the parts of a trace that was read fit each other.

        Raises:
            ShapeError: They do not.
        """


@dataclass(frozen=True, repr=False, kw_only=True)
class Trace(Saved, WithPrinter):
    """A trace: the steps that each event of a stream caused, as data.

    Attributes:
        pattern: The query, printed.
        operations: The operations of each step, in order.
        counters: The counters after each step.

    Example:
        >>> import cepkit as ck
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> trace = ck.simulate(stream, "PATTERN SEQ(MSFT a, GOOG b)", "eager-nfa")
        >>> from cepkit.tracing import Trace
        >>> Trace.from_json(trace.to_json()) == trace
        True
    """

    of: ClassVar[str]
    """The plural of the things that it traces."""
    counter_titles: ClassVar[Mapping[str, str]]
    """The counters that can be drawn, with descriptions."""
    total_titles: ClassVar[Mapping[str, str]]
    """The columns for comparison with other traces: the name and the totals."""
    unit: ClassVar[str]
    """The plural of its steps."""

    pattern: str
    events: EventTable
    operations: tuple[tuple[Any, ...], ...] = field(metadata=keyed("steps"))
    counters: tuple[Any, ...]

    if TYPE_CHECKING:  # fields of some kinds of traces, and properties of others

        @property
        def clauses(self) -> tuple[Clause, ...]:
            """The parts of the pattern that steps refer to."""

        @property
        def truncated(self) -> Truncated | None:
            """How many steps were left out, if any."""

        @property
        def totals(self) -> Any:
            """The totals of the whole run."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name among other traces of the stream."""

    @property
    @abstractmethod
    def places(self) -> Sequence[Place]:
        """The time and the event of each step."""

    @property
    @abstractmethod
    def streamed(self) -> int:
        """How many events the stream has."""

    @property
    @abstractmethod
    def telling(self) -> Sequence[str]:
        """The counters drawn by default."""

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.operations)

    def difference(self, other: Trace) -> Literal["patterns", "streams"] | None:
        """Return how two traces differ in pattern or stream; None if they agree."""
        if self.pattern != other.pattern:
            return "patterns"
        both = min(len(self.events), len(other.events))
        # Parts that were left out may differ.
        size = both if self.truncated or other.truncated else len(self.events)
        same = self.streamed == other.streamed and all(
            getattr(self.events, name)[:size] == getattr(other.events, name)[:both]
            for name in ("id", "time", "type")
        )
        return None if same else "streams"

    def encoded(self) -> dict[str, Any]:
        """Return the trace as values that JSON can hold."""
        return {"schema": self.schema, "name": self.name, **encode(self)}

    def check(self) -> None:
        """Check that the parts of a trace that was read fit each other.

        Raises:
            ShapeError: They do not.
        """
        table, steps = self.events, len(self)
        columns = {name: getattr(table, name) for name in ("time", "type", "name")}
        check_even({**columns, **table.attributes}, len(table), "events")
        if len(self.counters) != steps:
            raise ShapeError(f"a list of {len(self.counters):,} values", f"{steps:,}", "counters")
        sizes = self.sizes()
        names_by_clause: dict[type, list[str]] = {}
        for number, step in enumerate(self.operations):
            for i, operation in enumerate(step):
                kind = type(operation)
                if kind not in names_by_clause:
                    names_by_clause[kind] = [f.name for f in fields(kind) if f.name in sizes]
                for name in names_by_clause[kind]:
                    what, size = sizes[name]
                    place = f"steps[{number}][{i}].{name}"
                    value = getattr(operation, name)
                    for one in value if isinstance(value, tuple) else (value,):
                        check_below(one, size, what, place)

    @abstractmethod
    def sizes(self) -> Mapping[str, tuple[str, int]]:
        """Return for each index field of operations the kind of things and their number."""


def _decoded(kind: type[Any], data: dict[str, Any]) -> Any:
    trace = decode(kind, data)
    trace.check()
    return trace
