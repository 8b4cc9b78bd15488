"""Runs several programs on one slice, with common prefixes only once.

The branches of one or several queries run depth first through the tree of their common steps
(`compile/forest.py`). Each batch of a node's rows goes to all children in turn, so nothing is
materialised: memory is that of the longest path. A child may not use all rows of its node: it may
have a smaller window, own less of the slice, or have fewer candidates. Rows are mapped to its own
candidates, and others are dropped. Cost: binding each distinct kind of candidates once, and a
look-up for each row handed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from cepkit.columnar.compile.forest import Leaf, Node, Prefix, SharedTree, in_order, taking
from cepkit.columnar.compile.program import Program, StepCounters, work_of
from cepkit.columnar.compile.query import CompiledQuery
from cepkit.columnar.join.step import Ints, Partials
from cepkit.columnar.kleene.limits import SetChoice
from cepkit.columnar.run import GROUP_ROWS, FoundTree, Run
from cepkit.columnar.slices.binding import Binder, BoundProgram
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.candidates import Candidates, Scan, find_types
from cepkit.columnar.slices.cutting import Owned
from cepkit.indexing import take
from cepkit.pattern.conditions import Expression
from cepkit.pattern.evaluation.columns import truth
from cepkit.stream.columns import Column, EventColumns


def matches_in_common(
    query: CompiledQuery,
    columns: EventColumns,
    owned: Owned,
    counters: Sequence[Sequence[StepCounters]],
    choice: SetChoice = "every",
) -> Iterator[tuple[int, Block]]:
    """Yield the numbers of several programs and their matches in a slice; see `parts.matches_of`.

    Args:
        counters: The work of common steps is added to those of the first program that has them.
    """
    walk = _ForestRun(query, columns, owned, counters, choice)
    for node in query.forest:
        yield from walk.begin(node)


@dataclass(frozen=True, slots=True)
class _Handover:
    """Converts rows of a node to rows of a child.

    Attributes:
        names: The child's variable for each of the node's.
        places: For each variable with different candidates, the child's candidate for each of the
            node's; -1 for none.
        window: The child's window in microseconds, if it is smaller than the node's.
        candidates: Those of the child.
        checked: The child's conditions on these variables that the node lacks.
    """

    names: Mapping[str, str]
    places: Mapping[str, Ints]
    window: int | None
    candidates: Mapping[str, Candidates]
    checked: tuple[Expression, ...] = ()

    def rows(self, partials: Partials, size: int) -> tuple[Partials, int]:
        """Return the rows for the child."""
        rows = {self.names[v]: at for v, at in partials.items()}
        held = None
        for variable, places in self.places.items():
            rows[variable] = take(places, rows[variable])
            inside = rows[variable] >= 0
            held = inside if held is None else held & inside
        rows, size = _those(rows, size, held)
        if self.window is not None and size:
            ts = [self.candidates[v].ts[at] for v, at in rows.items()]
            span = np.maximum.reduce(ts) - np.minimum.reduce(ts)
            rows, size = _those(rows, size, span <= self.window)
        for condition in self.checked:
            if size:
                held = truth(condition, partial(self._column, rows), size)
                rows, size = _those(rows, size, held)
        return rows, size

    def _column(self, rows: Partials, variable: str, attribute: str) -> Column:
        # Imported here: it is slow, and a single pattern does not need it.
        from cepkit.sharing.late import TIME

        candidates = self.candidates[variable]
        if attribute == TIME:
            return Column("timestamp", candidates.ts[rows[variable]])
        return candidates.column(attribute).take(rows[variable])


def _those(
    rows: dict[str, Ints], size: int, held: np.ndarray[tuple[int], np.dtype[np.bool_]] | None
) -> tuple[dict[str, Ints], int]:
    if held is None or held.all():
        return rows, size
    at = np.flatnonzero(held)
    return {v: column[at] for v, column in rows.items()}, len(at)


@dataclass(frozen=True, slots=True)
class _Onward:
    """A program or node that continues with the rows of another node.

    Attributes:
        handover: How they become rows of it.
        run: It, bound.
        length: The number of steps in common with its own children; 0 without children.
        number: The program, where it has no children.
        children: The nodes that extend its rows.
        ends: Whether it is a program that has all of its steps in common with others.
    """

    handover: _Handover
    run: Run
    length: int
    number: int
    children: Sequence[_Onward] = ()
    ends: bool = False


class _ForestRun:
    """One pass through the tree of a query's programs, on one slice."""

    def __init__(
        self,
        query: CompiledQuery,
        columns: EventColumns,
        owned: Owned,
        counters: Sequence[Sequence[StepCounters]],
        choice: SetChoice,
    ) -> None:
        self._programs, self._together = query.programs, query.together
        self._weak = query.weak or (None,) * len(query.programs)
        self._columns = columns
        self._owned = owned
        self._counters = counters
        self._choice = choice
        self._scan = Scan()
        # One pass over the events for all programs.
        find_types(chain.from_iterable(p.everything for p in query.programs), columns, self._scan)
        # Programs with weaker first steps get candidates once the node they continue is known.
        self._binders = {
            number: self._binder(program)
            for number, program in enumerate(query.programs)
            if self._weak[number] is None
        }
        self._able = [
            number not in self._binders or self._binders[number].can_match
            for number in range(len(query.programs))
        ]
        self._bound: dict[int, BoundProgram] = {}
        self._trees: dict[int, FoundTree] = {}
        # Of programs with all steps in common with others: the survivors of the last step before
        # the node, and since then.
        self._ended: dict[int, tuple[int, int]] = {}
        for tree in query.trees:
            self._share_tree(tree)

    def begin(self, node: Node) -> Iterator[tuple[int, Block]]:
        """Yield the matches of a root node."""
        if isinstance(node, Prefix):
            able = [number for number in node.members if self._able[number]]
            if len(able) > 1:
                bound, run = self._prefix(node, 0)
                children = self._onward(node, bound)
                for rows, size in run.begun():
                    yield from self._hand_over(children, node.length, rows, size)
                # The node counts rows, of which some may be other slices' matches.
                for number, numbers in self._ended.items():
                    self._counters[number][-1].survivors = sum(numbers)
                self._ended.clear()
                return
        for number in (node.number,) if isinstance(node, Leaf) else node.members:
            for block in self._run(number, self._whole(number)).blocks():
                yield number, block

    def _binder(self, program: Program) -> Binder:
        return Binder(program, self._columns, self._owned, self._scan)

    def _whole(self, number: int, found: int = 0) -> BoundProgram:
        """Return a program with its steps bound, but for the first ones if their rows are found."""
        if number not in self._bound:
            binder = self._binders.pop(number, None) or self._binder(self._programs[number])
            self._bound[number] = binder.bound(found)
        return self._bound[number]

    def _run(self, number: int, bound: BoundProgram) -> Run:
        return Run(bound, self._counters[number], self._choice, self._trees)

    def _hand_over(
        self, children: Sequence[_Onward], length: int, rows: Partials, size: int
    ) -> Iterator[tuple[int, Block]]:
        """Pass rows of a node to its children; yield their matches."""
        for child in children:
            own, count = child.handover.rows(rows, size)
            if not count:
                continue
            if child.children:
                for longer, number in child.run.longer(length, own, count):
                    yield from self._hand_over(child.children, child.length, longer, number)
            else:
                for block in child.run.continued(length, own, count):
                    if child.ends:
                        before, now = self._ended[child.number]
                        self._ended[child.number] = before, now + block.size
                    yield child.number, block

    def _onward(self, parent: Prefix, bound: BoundProgram) -> list[_Onward]:
        """Return the continuations of a node that can have matches."""
        onward = []
        for node in parent.children:
            members = (node.number,) if isinstance(node, Leaf) else node.members
            able = [number for number in members if self._able[number]]
            if isinstance(node, Prefix) and len(able) > 1:
                own, run = self._prefix(node, parent.length)
                if children := self._onward(node, own):
                    handover = _handover(bound, own, checked=node.checked)
                    onward.append(_Onward(handover, run, node.length, -1, children))
                continue
            for number in able:
                program, checked = taking(self._programs[number], self._weak[number], parent.length)
                if program is self._programs[number]:
                    own = self._whole(number, parent.length)
                else:
                    own = self._binder(program).bound(parent.length)
                if own.binder.can_match:
                    handover = _handover(bound, own, checked=checked)
                    whole = not program.sets and len(program.steps) == parent.length
                    ends = whole and not self._together
                    if ends:
                        self._ended[number] = self._counters[number][-1].survivors, 0
                    run = self._run(number, own)
                    onward.append(_Onward(handover, run, 0, number, ends=ends))
        return onward

    def _share_tree(self, tree: SharedTree) -> None:
        """Let programs with a common subtree compute its partial matches once."""
        users = [(number, step) for number, step in tree.users if self._able[number]]
        if len(users) < 2:
            return
        bound = Binder(tree.program, self._columns, self._unowned(), self._scan).bound()
        counters, steps_of_tree = self._counters_of(tree.lead), tree.program.steps
        held = _SharedSubtree(Run(bound, [counters[id(step)] for step in tree.program.work]))
        for number, step in users:
            own = in_order(step.steps)
            handover = _handover(bound, self._whole(number), (in_order(steps_of_tree), own))
            self._trees[id(step)] = partial(held.members, handover)
            if number != tree.lead:
                counted = self._counters_of(number)
                for inner in work_of(step.steps):
                    counted[id(inner)].shared_with = tree.lead + 1

    def _counters_of(self, number: int) -> dict[int, StepCounters]:
        """Return the counters of a program by the identity of its steps."""
        work = map(id, self._programs[number].work)
        return dict(zip(work, self._counters[number], strict=False))

    def _unowned(self) -> Owned:
        return Owned(None, self._owned.until, self._owned.clock)

    def _prefix(self, node: Prefix, begin: int) -> tuple[BoundProgram, Run]:
        """Bind common steps, and record whose counters get their work from `begin` on."""
        owned = self._owned
        if not (node.program.owners and owned.clock == "time"):
            owned = self._unowned()
        bound = Binder(node.program, self._columns, owned, self._scan).bound(begin)
        for number in node.members:
            if number != node.lead:
                for counted in self._counters[number][begin : node.length]:
                    counted.shared_with = node.lead + 1
        return bound, Run(bound, self._counters[node.lead][: node.length])


class _SharedSubtree:
    """The partial matches of a subtree that several programs share, evaluated on first use."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rows: list[tuple[Partials, int]] | None = None
        self._too_many = False  # then each program computes its own

    def members(self, handover: _Handover) -> list[dict[str, Ints]] | None:
        """Return the rows as candidates of a program; None if there are too many to hold."""
        if self._rows is None:
            self._rows, size = [], 0
            for rows, count in self._run.begun():
                self._rows.append((rows, count))
                size += count
                if size > GROUP_ROWS:
                    self._rows, self._too_many = [], True
                    break
        if self._too_many:
            return None
        parts = [dict(handover.rows(rows, size)[0]) for rows, size in self._rows]
        if not parts:
            return []
        whole = {v: np.concatenate([part[v] for part in parts]) for v in parts[0]}
        return [whole] if len(next(iter(whole.values()))) else []


def _handover(
    node: BoundProgram,
    child: BoundProgram,
    variables: tuple[Sequence[str], Sequence[str]] | None = None,
    checked: tuple[Expression, ...] = (),
) -> _Handover:
    """Return the handover of a node's rows to a program that continues with them.

    Args:
        node: Whose rows they are.
        variables: Those of both in one order; None: as they are bound.
        checked: The program's conditions that the node lacks.
    """
    own, others = variables or (node.program.bound, child.program.bound)
    names = dict(zip(own, others, strict=False))
    places = {}
    for variable, name in names.items():
        rows, among = node.candidates[variable].rows, child.candidates[name].rows
        if rows is not among and not np.array_equal(rows, among):
            places[name] = _places(rows, among)
    longest, window = node.program.window, child.program.window
    shorter = window is not None and longest is not None and window < longest
    return _Handover(names, places, window if shorter else None, child.candidates, checked)


def _places(rows: Ints, among: Ints) -> Ints:
    """Return the place of each row among others; -1 if it is not among them."""
    size = 1 + max(int(rows.max(initial=-1)), int(among.max(initial=-1)))
    places = np.full(size, -1, dtype=np.int32)
    places[among] = np.arange(len(among), dtype=np.int32)
    return places[rows]
