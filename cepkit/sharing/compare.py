"""Compares searches for shared plans, and separates the two parts of their gain.

    gain = cost of the text's plans / cost = reordering * sharing

Reordering is the gain of the same plans without sharing; sharing is the further gain of computing
equal nodes once. It is bounded: nodes of only one pattern, most often its root, are always paid
for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Literal

from cepkit.costs.contract import CostModel
from cepkit.costs.work import WORK
from cepkit.errors import LimitError, PlanError
from cepkit.lazy import pd
from cepkit.pattern.query import Query
from cepkit.pattern.several import named
from cepkit.planners.contract import SearchInterrupted
from cepkit.printing import Printed, html_output
from cepkit.progress import Bar, Progress
from cepkit.sharing.parts import known_statistics
from cepkit.sharing.plan_graph import Mode, PlanGraph, Prepared
from cepkit.sharing.prices import number_of
from cepkit.sharing.searches import SEARCHES, SharingObserved, SharingSearch
from cepkit.sharing.start import alone, text_plans
from cepkit.sharing.workload import Workload
from cepkit.statistics.model import Statistics
from cepkit.tables import count_text, html_table, number, text_table

_MODES: Mapping[str, tuple[Mode, ...]] = {
    "prefix": ("order",),
    "tree": ("tree",),
    "auto": ("order", "tree"),
}
_BEST, _EQUAL = "★", 1e-9
_GAINS = ("gain", "reordering", "sharing")
_HEAD = ("search", "share", "cost", *_GAINS, "nodes", "shared", "planning ms")
_COLUMNS = ("search", "share", "cost", "apart", "text", *_GAINS, "nodes", "shared", "seconds")


@dataclass(frozen=True, slots=True)
class ComparedSharing:
    """The plans of one search, by their costs.

    Attributes:
        search: Its name.
        share: "prefix" or "tree".
        cost: The cost of all plans together.
        apart: The cost of the same plans without sharing.
        text: The cost of the plans in the order of the text, without sharing.
        nodes: How many nodes there are.
        shared: How many nodes several plans use.
        seconds: The time of the search.
        observed: The states of the search over time.
    """

    search: str
    share: Literal["prefix", "tree"]
    cost: float
    apart: float
    text: float
    nodes: int
    shared: int
    seconds: float
    observed: tuple[SharingObserved, ...] = ()

    @property
    def gain(self) -> float:
        """The cost of the text's plans / this cost."""
        return _times(self.text, self.cost)

    @property
    def reordering(self) -> float:
        """The factor of the gain that comes from the plans themselves."""
        return _times(self.text, self.apart)

    @property
    def sharing(self) -> float:
        """The factor of the gain that comes from computing equal nodes once."""
        return _times(self.apart, self.cost)


def _times(before: float, after: float) -> float:
    if after:
        return before / after
    return math.inf if before else 1.0


@dataclass(frozen=True, slots=True, repr=False)
class SharingComparison(Printed):
    """Searches for plans of several patterns, side by side.

    Attributes:
        rows: One for each search and kind of plan.
        cost_model: The name of the cost model.
        refused: The searches that found no plans, and why.
    """

    names: tuple[str, ...]
    rows: tuple[ComparedSharing, ...]
    cost_model: str
    refused: tuple[tuple[str, str], ...] = ()

    def row(self, search: str, share: str = "prefix") -> ComparedSharing:
        """Return one row.

        Raises:
            PlanError: The comparison has no such search.
        """
        for row in self.rows:
            if (row.search, row.share) == (search, share):
                return row
        names = sorted({row.search for row in self.rows})
        raise PlanError.unknown(f"no row of '{search}' with share='{share}'", search, names)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each search.

        Columns: search, share, cost, apart, text, gain, reordering, sharing, nodes, shared, and
        seconds.
        """
        rows = [tuple(getattr(row, name) for name in _COLUMNS) for row in self.rows]
        return pd.DataFrame.from_records(rows, columns=_COLUMNS)

    def _cells(self, row: ComparedSharing) -> tuple[str, ...]:
        least = min(each.cost for each in self.rows)
        return (
            f"{row.search} {_BEST}" if row.cost <= least * (1 + _EQUAL) else row.search,
            row.share,
            number(row.cost),
            *(f"{number(float(f'{getattr(row, name):.4g}'))}x" for name in _GAINS),
            f"{row.nodes:,}",
            f"{row.shared:,}",
            number(float(f"{1000 * row.seconds:.3g}")),
        )

    def _remarks(self) -> tuple[str, ...]:
        patterns = count_text(len(self.names), "pattern")
        return (
            f"{patterns}; cost: {self.cost_model}",
            f"{_BEST} the cheapest",
            "gain: over the order of the text without sharing; it is reordering times sharing",
            *(f"{name}: {why}" for name, why in self.refused),
        )

    def __str__(self) -> str:
        first, *rest = self._remarks()
        return "\n".join((first, text_table(_HEAD, map(self._cells, self.rows), left=2), *rest))

    def _repr_html_(self) -> str:
        caption = "; ".join(self._remarks())
        return html_output(html_table(_HEAD, map(self._cells, self.rows), caption, left=2))


def compare_shared_plans(
    queries: Sequence[Query] | Mapping[str, Query],
    statistics: Statistics,
    searches: Sequence[str | SharingSearch] | None = None,
    share: Literal["auto", "prefix", "tree"] = "auto",
    cost: CostModel = WORK,
    *,
    progress: Progress = False,
) -> SharingComparison:
    """Compare the plans of several searches.

    If the user interrupts, the comparison has the rows until then.

    Args:
        queries: The queries, by name; a list gets numbers as names.
        statistics: The statistics of the stream, covering all queries.
        searches: Names of the shelf, or searches with settings of their own; None for all.
        share: "prefix" for orders, "tree" for trees, "auto" for both.
        progress: Whether to show a bar: see `cepkit.progress`.

    Raises:
        PatternError: There is no query.
        PlanError: No search is given, or a name is unknown.
        StatisticsError: The statistics lack an event or a condition of a query.
        LimitError: Every search refused.
    """
    if share not in _MODES:
        raise PlanError.unknown(f"share='{share}'", share, _MODES)
    picked = [*map(SEARCHES.pick, SEARCHES if searches is None else searches)]
    if not picked:
        raise PlanError("no search to compare", expected=f"some of {', '.join(SEARCHES)}")
    by_name = named(queries)
    known = known_statistics(by_name, statistics)
    workload = Workload.of(tuple(by_name.values()), known)
    rows: list[ComparedSharing] = []
    refused: dict[str, LimitError] = {}
    tasks = [(mode, search) for mode in _MODES[share] for search in picked]
    with Bar(len(tasks), progress, "comparing searches") as bar:
        for mode, search in tasks:
            bar.begin(search.name)
            try:
                row, whole = _compared(workload, cost, mode, search, bar)
                rows.append(row)
                if not whole:
                    refused[search.name] = LimitError("interrupted: its best plans so far")
                    break
            except LimitError as reason:
                refused[search.name] = reason
            except KeyboardInterrupt:
                if not rows:
                    raise
                refused[search.name] = LimitError("interrupted, as are those after it")
                break
    if not rows:
        raise next(iter(refused.values()))
    reasons = tuple((name, reason.found) for name, reason in refused.items())
    return SharingComparison(tuple(by_name), tuple(rows), cost.name, reasons)


def _compared(
    workload: Workload, cost: CostModel, mode: Mode, search: SharingSearch, bar: Bar
) -> tuple[ComparedSharing, bool]:
    """Return the plans of a search, and whether it finished."""
    prepared = Prepared(workload, cost, mode)  # no search profits from another's cache
    observed: list[SharingObserved] = []
    begin = perf_counter()

    def observe(state: SharingObserved) -> None:
        observed.append(state)
        bar.move(state.done or 0.0)

    whole = True
    try:
        choices = search.search(prepared, observe)
    except SearchInterrupted as stop:
        choices, whole = stop.best, False
    seconds = perf_counter() - begin
    graph = PlanGraph(prepared, choices)
    apart = PlanGraph(
        prepared,
        {
            s.number: replace(choices[s.number], pool=alone(s), weaker=None)
            for s in workload.sharers
        },
    )
    text = PlanGraph(prepared, text_plans(prepared))
    compared = ComparedSharing(
        search.name if whole else f"{search.name}, interrupted",
        "prefix" if mode == "order" else "tree",
        number_of(graph.cost),
        number_of(apart.cost),
        number_of(text.cost),
        len(graph.held),
        sum(held.windows.total() > 1 for held in graph.held.values()),
        seconds,
        tuple(observed),
    )
    return compared, whole
