"""The funnel: how many partial matches reach each step, and which requirement removes how many."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from cepkit.budget import Work
from cepkit.diagnosis.counting import counts_by_engine
from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.search import Coverage, Search
from cepkit.diagnosis.sets import SetSearch, counted, demands_of
from cepkit.diagnosis.words import list_text
from cepkit.pattern import requirements as req
from cepkit.pattern.names import variable_text
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import TimeWindow, window_text


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """How many events or partial matches came to one requirement, and how many passed it.

    Attributes:
        branch: The number of the branch, from 1.
        variable: The variable of the step; empty when all are bound.
        kind: The kind of the requirement; "scope" for order and window, "stretch" for the part of
            the stream that the rows after it count.
        text: The requirement in words.
        before: Events (of types and filters) or partial matches that came to it.
        after: Those that passed.
        alone: Combinations that fulfil all but this requirement; None where not counted.
    """

    branch: int
    variable: str
    kind: req.Kind | str
    text: str
    before: int
    after: int
    alone: int | None = None

    @property
    def removed(self) -> int:
        """How many the requirement removed."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class BranchFunnel:
    """The funnel of one branch.

    Attributes:
        rows: In the order of the steps.
        coverage: For how much of the stream partial matches were counted.
        matches: How many combinations were left, all sets of Kleene variables counted as one; None:
            not known.
        single: How many were left before the requirements of whole sets.
        uncounted: The requirements of whole sets that were not counted.
    """

    rows: tuple[FunnelRow, ...]
    coverage: Coverage
    matches: int | None
    single: int
    uncounted: tuple[req.Requirement, ...] = ()


def branch_funnel(
    measures: Measures,
    number: int,
    order: Sequence[str],
    work: Work,
    alone: Mapping[req.Requirement, int] | None = None,
) -> BranchFunnel:
    """Count the partial matches that each requirement of a branch lets through.

    Args:
        number: The number of the branch, from 1.
        order: Its positive variables; Kleene variables are counted last.
        alone: For each requirement the combinations that fulfil all others; None: not counted.
    """
    branch = measures.branch
    repeated = {variable for variable, _, _ in branch.repeated}
    steps = sorted(order, key=lambda variable: variable in repeated)
    grouped = frozenset(repeated) if steps[0] not in repeated else frozenset[str]()
    demands = demands_of(branch)
    ignored = frozenset(demands)
    search = Search(measures, steps, work, grouped=grouped, counting=True, ignored=ignored)
    if (counts := counts_by_engine(search)) is None:
        single = sum(block.groups for block in search.blocks())
    else:
        first = len(search.candidates(steps[0]))
        search.counts, search.coverage = counts, Coverage(steps[0], first, first)
        single = [first, *(after for _, after in counts.values())][-1]
    matches: int | None = single
    rows: list[FunnelRow] = []

    def add(step: str, requirement: req.Requirement, before: int, after: int) -> None:
        kind, text = req.kind_of(requirement), req.text_of(requirement)
        others = None if alone is None else alone.get(requirement)
        if isinstance(requirement, req.OfType):
            others = None  # an event of another type is no candidate at all
        rows.append(FunnelRow(number, step, kind, text, before, after, others))

    for at, variable in enumerate(steps):
        of_type = req.OfType(branch.event(variable))
        events = len(measures.table.of_types(of_type.event.types))
        add(variable, of_type, len(measures.table.columns), events)
        search.candidates(variable)
        for requirement, before, after in search.filtered[variable]:
            add(variable, requirement, before, after)
        coverage = search.coverage
        if not at and not coverage.complete:
            combinations = max(1, coverage.done)
            text = f"the first {combinations:,} of them" if coverage.done else "the first, in part"
            rows.append(FunnelRow(number, variable, "stretch", text, coverage.total, combinations))
        for due in search.counted(variable, steps[:at]):
            before, after = search.counts.get((variable, due), (0, 0))
            # A requirement of one event alone, or of two different events, has a row if it fails.
            idle = isinstance(due, req.Distinct) or not at
            if due is None:
                text = _scope_text(branch, variable, steps[:at])
                rows.append(FunnelRow(number, variable, "scope", text, before, after))
            elif not idle or before > after:
                add(variable, due, before, after)
    for requirement in req.requirements_of(branch):
        if isinstance(requirement, req.Absent) and requirement not in ignored:
            add("", requirement, *search.counts.get(("", requirement), (0, 0)))
    uncounted = [*demands]
    if search.coverage.complete:
        for demand, before, after in counted(SetSearch(measures.table, branch), demands, matches):
            add(_step_of(demand, steps, repeated), demand, before, after)
            uncounted = [r for r in uncounted if req.text_of(r) != req.text_of(demand)]
            matches = after
    # If several steps have the same requirement, only the last one shows `alone`.
    last = {row.text: at for at, row in enumerate(rows)}
    rows = [
        row if last[row.text] == at else replace(row, alone=None) for at, row in enumerate(rows)
    ]
    if uncounted:
        matches = None
    return BranchFunnel(tuple(rows), search.coverage, matches, single, tuple(uncounted))


def _step_of(demand: req.Requirement, steps: Sequence[str], repeated: Collection[str]) -> str:
    """Return the variable whose step a demand on sets belongs to; empty for a NOT."""
    if isinstance(demand, req.Absent):
        beside = demand.event.beside
        return demand.event.earlier_than or "" if beside is None else beside.variable
    about = req.variables_in(demand, steps)
    return next(v for v in reversed(steps) if v in repeated and v in about)


def _scope_text(branch: Branch, variable: str, bound: Sequence[str]) -> str:
    """Return in words where the events of a variable must lie relative to bound ones."""
    latest, soonest = branch.neighbours(variable, bound)
    parts = [f"after {list_text(list(map(variable_text, latest)))}"] if latest else []
    parts += [f"before {list_text(list(map(variable_text, soonest)))}"] if soonest else []
    place = " and ".join(parts) or f"beside {list_text(list(map(variable_text, bound)))}"
    window = ""
    if isinstance(branch.window, TimeWindow):
        window = f", within {window_text(branch.window)}"
    return f"{variable_text(variable)} {place}{window}"
