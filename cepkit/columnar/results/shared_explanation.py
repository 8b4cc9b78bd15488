"""Explain analyze for several queries: the work of each step, those that are shared once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepkit.columnar.compile.forest import Node, Prefix
from cepkit.columnar.slices.counters import Counters, StepCounters
from cepkit.columnar.workload import Group
from cepkit.lazy import pd
from cepkit.pattern.names import name_text
from cepkit.printing import Printed, html_output
from cepkit.tables import first_rows, html_table, whole


@dataclass(frozen=True, slots=True)
class SharedStep:
    """One step of one query, or of several that share it.

    Attributes:
        queries: The names of those that have it.
        step: The variable that it binds, as the first of these calls it.
        depth: How many steps there are before it.
        candidates: Pairs of a partial match and an event that were examined.
        survivors: Partial matches that passed.
        removed: Partial matches that an event under NOT ruled out; not among the survivors.
        seconds: Time spent in the step.
    """

    queries: tuple[str, ...]
    step: str
    depth: int
    candidates: int
    survivors: int
    removed: int
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class SharedExplanation(Printed):
    """The work of several queries' steps; prints as a table, has an HTML repr and a pandas twin.

    Attributes:
        steps: The steps, each after the steps that it continues.
        queries: How many queries there are.
    """

    steps: tuple[SharedStep, ...]
    queries: int

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each step; `queries` are tuples of names."""
        names = SharedStep.__slots__
        return pd.DataFrame([{name: getattr(s, name) for name in names} for s in self.steps])

    def __str__(self) -> str:
        table = first_rows(_STEP_HEAD, self._rows("  "), "steps", left=2, most=100)
        return f"{self._title()}\n{table}"

    def _repr_html_(self) -> str:
        rows = self._rows("\N{NO-BREAK SPACE}" * 2)
        return html_output(html_table(_STEP_HEAD, rows, self._title(), left=2))

    def _title(self) -> str:
        common = sum(len(step.queries) > 1 for step in self.steps)
        return f"{self.queries} queries, {len(self.steps)} steps, {common} of them shared"

    def _rows(self, indent: str) -> list[tuple[str, ...]]:
        return [
            (
                indent * step.depth + step.step,
                some_names(step.queries, len(step.queries)),
                whole(step.candidates),
                whole(step.survivors),
                whole(step.removed) if step.removed else "",
                f"{step.seconds:.3f}",
            )
            for step in self.steps
        ]


_STEP_HEAD = ("step", "queries", "candidates", "survivors", "removed by NOT", "seconds")


MOST_NAMES = 4


def some_names(names: Sequence[str], number: int) -> str:
    """Return some names, and how many more there are."""
    text = ", ".join(map(name_text, names[:MOST_NAMES]))
    return text if number <= MOST_NAMES else f"{text} and {number - MOST_NAMES:,} more"


def steps_of(
    node: Node, group: Group, counters: Counters, names: Sequence[str], begin: int
) -> Iterator[SharedStep]:
    """Yield the steps of a node and of its children."""
    if isinstance(node, Prefix):
        members, lead, end = node.members, node.lead, node.length
    else:
        members, lead, end = (node.number,), node.number, len(counters[node.number])
    queries = tuple(dict.fromkeys(names[group.of[number]] for number in members))
    shared = _tree_users(group, lead, names)
    for depth in range(begin, end):
        own = counters[lead][depth]
        # In a slice where others cannot match, a query runs common steps alone.
        counted = StepCounters(own.variable)
        for number in members:
            counted.add(counters[number][depth])
        if counted.candidates or not own.shared_with:
            yield _step(counted, shared.get(counted.variable, queries), depth)
    if isinstance(node, Prefix):
        for child in node.children:
            yield from steps_of(child, group, counters, names, end)


def _tree_users(group: Group, lead: int, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the users of the shared subtrees that a program computes, by their steps."""
    users: dict[str, tuple[str, ...]] = {}
    for tree in group.query.trees:
        if tree.lead == lead:
            queries = tuple(dict.fromkeys(names[group.of[number]] for number, _ in tree.users))
            users |= {step.name: queries for step in tree.program.work}
    return users


def _step(counted: StepCounters, queries: tuple[str, ...], depth: int) -> SharedStep:
    return SharedStep(
        queries,
        counted.variable,
        depth,
        counted.candidates,
        counted.survivors,
        counted.removed,
        counted.seconds,
    )
