"""What prefix counters did with each event: a trace, as data and as the tables of its source.

A *counter* belongs to a START event, the first of a piece of the sequence, and holds for each
prefix of that piece how many matches of it begin there. A sequence in one piece is plain prefix
counting; in several it is Chop-Connect, where the START of a later piece keeps a snapshot: how many
matches of all pieces before end before it, by the START of the whole. Matches are counted, whatever
the query aggregates; docs/trace.md has the JSON.

Source: ASEQ, figures 4, 6, 7 and 10.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from cepkit.aggregation.tracing.records import CountedEvents, CounterCounts, Step, counts_of
from cepkit.arguments import typed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class CounterTrace:
    """A trace of prefix counters; with GROUP BY it counts the matches of all groups together.

    Attributes:
        pattern: The query, printed.
        pieces: The variables of each piece.
        absent: (position, variable): no such event between the positions p and p + 1, from 1.
        window: The greatest difference of times in microseconds, None for any.
        keys: What each key stands for, as "customer 17", in the order in which they come; one
            empty text where there is one key for all.
        events: The events that were looked at; of very many only those that do something.
        steps: What happened, in order.
        looked_at: How many events the stream has.
    """

    pattern: str
    pieces: tuple[tuple[str, ...], ...]
    absent: tuple[tuple[int, str], ...]
    window: int | None
    keys: tuple[str, ...]
    events: CountedEvents
    steps: tuple[Step, ...]
    looked_at: int

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.steps)

    @property
    def name(self) -> str:
        """The method and its pieces: ``chop-connect a b c | d e``."""
        method = "prefix-counters" if len(self.pieces) == 1 else "chop-connect"
        return f"{method} {' | '.join(map(' '.join, self.pieces))}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the sequence, in order."""
        return tuple(variable for piece in self.pieces for variable in piece)

    @property
    def output(self) -> tuple[tuple[int, int], ...]:
        """Each trigger's time, and the live matches after all that happened at that time."""
        last = {step.ts: step.count for step in self.steps if step.action != "expire"}
        return tuple((step.ts, last[step.ts]) for step in self.steps if step.trigger)

    @property
    def counters(self) -> tuple[CounterCounts, ...]:
        """After each step: live matches, new ones, rows, rows of snapshots, updates so far."""
        return counts_of(self.steps)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each counter after each step, and one for a step that leaves none."""
        import pandas as pd

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

    @typed
    def to_json(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the trace as JSON (docs/trace.md), and write it to `path` if one is given.

        Args:
            path: The file, whose name ends in .json.
            overwrite: Whether to replace a file that exists; it stays until the new one is whole.

        Raises:
            FileError: It cannot, or must not, be written.
        """
        from cepkit.aggregation.tracing.codec import encode
        from cepkit.stream.json_text import write_json

        return write_json(encode(self), path, overwrite=overwrite)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> CounterTrace:
        """Return the trace of a JSON text, or of a file.

        Args:
            source: What `to_json` gave, or a path where it was written.

        Raises:
            TraceError: It is no trace of a version that is known.
        """
        from cepkit.aggregation.tracing.codec import SCHEMA, decode
        from cepkit.stream.json_text import read_json

        return read_json(source, SCHEMA, decode)

    def __repr__(self) -> str:
        from cepkit.aggregation.tracing.table import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from cepkit.aggregation.tracing.table import to_html

        return to_html(self)
