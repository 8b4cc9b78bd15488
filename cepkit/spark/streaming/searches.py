"""What is looked for among the events of a bucket each time the watermark moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.columnar.compile.query import CompiledQuery
from cepkit.columnar.detector import Detector
from cepkit.columnar.results.output import Writer, output_schema
from cepkit.columnar.slices.candidates import Owned
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.stream.columns import EventColumns

Taken = npt.NDArray[np.bool_]

FAR = 2**60
"""Some 36,000 years in microseconds; sums of a few of these are still int64."""


class Search(Protocol):
    """What is looked for."""

    @property
    def kind(self) -> str:
        """What its rows are."""
        ...

    @property
    def window(self) -> int:
        """How much before its own stretch of time it must see, in microseconds."""
        ...

    @property
    def ahead(self) -> int:
        """How much after it."""
        ...

    @property
    def rows(self) -> pa.Schema:
        """The columns of its rows."""
        ...

    @property
    def at_any_time(self) -> bool:
        """Whether there may be rows where there is no event."""
        ...

    def is_due(self, ts: npt.NDArray[np.int64], owned: Owned) -> bool:
        """Return whether there may be rows in a stretch, by the times of the events."""
        ...

    def batches(
        self, events: EventColumns, owned: Owned, taken: Taken | None
    ) -> Iterator[pa.RecordBatch | str]:
        """Yield the rows of a stretch; and in words which plan was run, where that changes."""
        ...


@dataclass(frozen=True, slots=True)
class MatchSearch:
    """The matches of a compiled query.

    Attributes:
        variables: All its variables in pattern order.
        repeated: The Kleene variables among them.
        time: The column of the event time.
        rows: The columns of the matches.
        window: As for any search.
        ahead: As for any search.
        kind: What the rows are.
        plans: What says under which plan each stretch is searched; None: all as `query` says.
    """

    query: CompiledQuery
    variables: tuple[str, ...]
    repeated: frozenset[str]
    time: str
    rows: pa.Schema
    window: int
    ahead: int
    kind: str = "match"
    at_any_time: bool = False
    plans: SlicePlans | None = None

    @classmethod
    def of(
        cls,
        query: CompiledQuery,
        variables: tuple[str, ...],
        time: str,
        carried: pa.Schema,
        *,
        window: int,
        ahead: bool,
        kind: str = "match",
        plans: SlicePlans | None = None,
    ) -> MatchSearch:
        """Return a search of which the window and whether it looks ahead are known."""
        repeated = frozenset(step.variable for p in query.programs for step in p.listed)
        window = min(max(window, 0), FAR)
        rows = output_schema(carried, variables, time, repeated)
        return cls(
            query,
            variables,
            repeated,
            time,
            rows,
            window,
            window if ahead else 0,
            kind=kind,
            plans=plans,
        )

    def is_due(self, ts: npt.NDArray[np.int64], owned: Owned) -> bool:
        """Return whether an event lies in the stretch: the last one of a match does."""
        return has_event(ts, owned)

    def batches(
        self, events: EventColumns, owned: Owned, taken: Taken | None
    ) -> Iterator[pa.RecordBatch | str]:
        """Yield the matches whose last event lies in the stretch."""
        writer = Writer(events, self.variables, self.time, self.repeated)
        programs = self.query.programs
        detector = Detector(self.query, plans=self.plans)
        for branch, block in detector.matches(events, owned, taken=taken):
            yield from writer.batches(block, programs[branch].variables)
        if detector.work is not None:
            for one in detector.work.slices:
                yield "; ".join(map(str, one.branches))


def has_event(ts: npt.NDArray[np.int64], owned: Owned) -> bool:
    """Return whether an event lies in a stretch of time, by the times of the events."""
    assert owned.until is not None
    inside = ts < owned.until
    if owned.since is not None:
        inside &= ts >= owned.since
    return bool(inside.any())
