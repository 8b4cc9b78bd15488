"""The searches that run over the events of a bucket each time the watermark moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.columnar.detector import Detector
from cepkit.columnar.results.output import MatchColumns
from cepkit.columnar.slices.cutting import Owned
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.columnar.workload import Group
from cepkit.pattern.several import ALONE
from cepkit.printing import time_text
from cepkit.spark.matches.table import table_rows
from cepkit.spark.passes.one_table import OneTable
from cepkit.spark.streaming.explanation import PlanSteps, add_work
from cepkit.stream.columns import EventColumns

Taken = npt.NDArray[np.bool_]

FAR = 2**60
"""Some 36,000 years in microseconds; sums of a few of these are still int64."""


@dataclass(slots=True)
class Carried:
    """The state of a search beyond the events of its bucket.

    Attributes:
        taken: Under skip-till-next-match, which events matches have taken; with AFTER MATCH SKIP,
            which events no match may start with; else None.
        plans: The state that decides the plan of the next stretch: see `SlicePlans.memory`.
        work: The work of the steps of each plan in this step.
    """

    taken: Taken | None = None
    plans: str = ""
    work: PlanSteps = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counted:
    """How a search counts events: in time order, without late ones.

    Attributes:
        partition_by: The columns inside whose partitions it counts; none: over the whole stream.
        last: How many of the last events before its own stretch of time it must see, of each
            partition; None: those of its window.
    """

    partition_by: tuple[str, ...]
    last: int | None


@dataclass(frozen=True, slots=True)
class Reach:
    """The events that a search needs around its own stretch of time.

    Attributes:
        window: How much before it, in microseconds.
        ahead: How much after it.
        counted: How it counts events; None: it does not.
        by_start: Whether a match belongs to the stretch in which it starts, not to that of its end.
    """

    window: int
    ahead: int
    counted: Counted | None = None
    by_start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(ABC):
    """A search over the events of a bucket.

    Attributes:
        reach: The events that it must see.
        kind: The kind of its rows.
        in_turn: Whether its matches depend on earlier ones; each event then has a mark.
        at_any_time: Whether there may be rows where there is no event.
    """

    reach: Reach
    kind: str = "match"
    in_turn: bool = False
    at_any_time: bool = False

    def is_due(self, ts: npt.NDArray[np.int64], owned: Owned) -> bool:
        """Return whether there may be rows in a stretch: an event lies in it, by their times."""
        assert owned.until is not None
        inside = ts < owned.until
        if owned.since is not None:
            inside &= ts >= owned.since
        return bool(inside.any())

    @abstractmethod
    def batches(
        self, events: EventColumns, owned: Owned, carried: Carried
    ) -> Iterator[pa.RecordBatch | str]:
        """Yield the rows of a stretch; if plans change, also each plan that was run, in words.

        `carried` is updated.
        """


@dataclass(frozen=True, slots=True)
class MatchSearch(Search):
    """The search for the matches of queries that are run as one.

    Attributes:
        table: The columns of the matches of all queries.
        written: The columns of the matches of each query, by its number.
        name: The name of its plan, where plans follow the stream; "" for the only query.
        plans: Chooses the plan of each stretch; None: always that of `group`.
    """

    group: Group
    table: OneTable
    written: Mapping[int, MatchColumns]
    name: str = ALONE
    plans: SlicePlans | None = None

    def batches(
        self, events: EventColumns, owned: Owned, carried: Carried
    ) -> Iterator[pa.RecordBatch | str]:
        """Yield the matches that end in the stretch, or start in it, as `reach` says."""
        if self.reach.counted is not None:
            events = counted_by_time(events)
        plans = None if self.plans is None else self.plans.resumed(carried.plans)
        detector = Detector(self.group.query, plans=plans)
        blocks = detector.matches(events, owned, taken=carried.taken)
        yield from table_rows(blocks, self.group, self.table, events, self.written)
        for plan in plan_texts(carried, plans, detector):
            yield plan if self.name == ALONE else f"{self.name}: {plan}"


def plan_texts(carried: Carried, plans: SlicePlans | None, detector: Detector) -> Iterator[str]:
    """Yield texts that say which plans a detector ran, in order, and why.

    `carried` gets what decides the next plan, and the work.
    """
    if plans is None or detector.work is None:
        add_work(carried.work, "", detector.counters)
        return
    carried.plans = plans.memory
    for branches, counters in detector.work.counters.items():
        add_work(carried.work, "; ".join(map(str, branches)), counters)
    before = None
    for run in detector.work.slices:
        if run.branches != before:
            before, why = run.branches, plans.why(run)
            plan = "; ".join(map(str, run.branches))
            yield f"{plan} from {time_text(run.first)}: {why}" if why else plan


def counted_by_time(events: EventColumns) -> EventColumns:
    """Return events numbered in time order."""
    return replace(events, arrivals=np.arange(len(events)), places=None)
