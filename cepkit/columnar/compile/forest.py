"""Common prefixes of several programs: equal steps, under any variable names.

Programs that begin with the same steps share a path of a tree. The path is a program of its own,
with the longest window of those that share it; each of them continues with the rows that fit its
own window and its own candidates. If a shared plan says so, the path has fewer conditions than a
program (`WeakStart`), which checks the rest on the rows of the path.

Source: *Real-Time Multi-Pattern Detection over Event Streams* (MULTI, US 2022/0091909 A1), whose
multi-pattern NFA is a tree of orders; there a shared state has the least window of its patterns,
which loses matches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepkit.columnar.compile.program import Absence, AnyStep, GroupStep, Program, Step, work_of
from cepkit.columnar.compile.step_keys import keys_of, may_share, tree_key
from cepkit.columnar.compile.steps import ends_of, is_link
from cepkit.pattern.canonical import canonical_conditions
from cepkit.pattern.conditions import Expression, variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.sharing.late import Late, weaker_branch

LEAST = 2
"""The fewest steps that are worth sharing: the first alone only names its candidates."""

MOST_WIDER = 4
"""How many times as long as a program's own window the window of shared steps may be. The program
drops the rows that exceed its own."""


@dataclass(frozen=True, slots=True)
class WeakStart:
    """The first steps of a program with some of its conditions left out.

    Attributes:
        program: These steps.
        checked: The conditions that are left out.
    """

    program: Program
    checked: tuple[Expression, ...]

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.program.steps)

    def due(self, length: int) -> tuple[Expression, ...]:
        """Return the conditions that are left to check on rows of the first steps."""
        bound = {*self.program.bound[:length]}
        return tuple(each for each in self.checked if variables_of(each) <= bound)

    def onward(self, program: Program, length: int) -> Program:
        """Return a program that continues from rows of its first steps, with their candidates."""
        first = (
            replace(step, filters=weaker.filters)
            for step, weaker in zip(program.steps[:length], self.program.steps, strict=False)
            if isinstance(step, Step) and isinstance(weaker, Step)
        )
        return replace(program, steps=(*first, *program.steps[length:]))

    def text(self) -> Hashable:
        """Return the conditions that are left out, without names of variables."""
        names = {variable: f"_{i}" for i, variable in enumerate(self.program.bound)}
        return canonical_conditions(self.checked, names)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A program that shares no further steps."""

    number: int


@dataclass(frozen=True, slots=True)
class Prefix:
    """Steps that several programs begin with.

    Attributes:
        program: These steps alone, with the longest window.
        lead: The first program that begins with them.
        members: All programs that begin with them.
        children: The nodes that continue from here.
        checked: Conditions to check on the rows of weaker steps that it continues from.
    """

    program: Program
    lead: int
    members: tuple[int, ...]
    children: tuple[Node, ...]
    checked: tuple[Expression, ...] = ()

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.program.steps)


Node: TypeAlias = "Leaf | Prefix"


@dataclass(frozen=True, slots=True)
class SharedTree:
    """A subtree that several programs share: evaluated once, then joined by each program.

    Attributes:
        program: The steps of the subtree alone, with the longest window.
        lead: The program that it is taken from.
        users: The programs that have it, each with the step that joins it.
    """

    program: Program
    lead: int
    users: tuple[tuple[int, GroupStep], ...]


def trees_of(
    programs: Sequence[Program], pools: Sequence[Hashable] | None = None
) -> tuple[SharedTree, ...]:
    """Return the subtrees that several programs have in common.

    Args:
        pools: As for `forest_of`.
    """
    users: dict[Hashable, list[tuple[int, GroupStep]]] = {}
    for number, program in enumerate(programs):
        for step in program.work if may_share(program) else ():
            if isinstance(step, GroupStep) and (key := tree_key(program, step)) is not None:
                pool = None if pools is None else pools[number]
                users.setdefault((pool, key), []).append((number, step))
    trees = []
    for group in users.values():
        members = sorted({number for number, _ in group})
        parts = [members] if pools is not None else _of_like_windows(programs, members)
        for alike in parts:
            own = tuple((number, step) for number, step in group if number in alike)
            if len(own) > 1:
                lead, step = max(own, key=lambda one: (programs[one[0]].window or 0, -one[0]))
                program = _part_of(programs[lead], step.steps, step.absences, ())
                trees.append(SharedTree(program, lead, own))
    return tuple(trees)


def in_order(steps: Iterable[AnyStep]) -> tuple[str, ...]:
    """Return the variables that steps bind, in the order of evaluation, which keys follow too."""
    return tuple(step.variable for step in work_of(tuple(steps)) if isinstance(step, Step))


def forest_of(
    programs: Sequence[Program],
    pools: Sequence[Hashable] | None = None,
    weak: Sequence[WeakStart | None] | None = None,
) -> tuple[Node, ...]:
    """Return the common prefixes of programs as a forest.

    Args:
        pools: For each program its pool: only programs of one pool share steps. None: programs
            share steps if their windows are not too different.
        weak: For each program the weaker steps that it may begin with.
    """
    if len(programs) == 1:
        return (Leaf(0),)
    starts = [None] * len(programs) if weak is None else weak
    keys: list[Sequence[Hashable]] = [
        keys_of(program) if start is None else _weak_keys(program, start)
        for program, start in zip(programs, starts, strict=True)
    ]
    if pools is not None:
        keys = [[(pool, key) for key in each] for pool, each in zip(pools, keys, strict=True)]
    return tuple(_nodes(programs, starts, keys, range(len(programs)), (0, 0), pools is not None))


def _weak_keys(program: Program, start: WeakStart) -> list[Hashable]:
    """Return the keys of a program that begins with weaker steps."""
    keys = [*keys_of(start.program), *keys_of(program)[start.length :]]
    if len(keys) > start.length:
        keys[start.length] = start.text(), keys[start.length]
    return keys


def _nodes(
    programs: Sequence[Program],
    starts: Sequence[WeakStart | None],
    keys: Sequence[Sequence[Hashable]],
    members: Sequence[int],
    lengths: tuple[int, int],
    any_window: bool,
) -> Iterator[Node]:
    """Yield the nodes that continue from the first steps that some programs have in common.

    Args:
        starts: The weaker steps that they may begin with.
        keys: The keys of their steps: equal steps have equal keys.
        lengths: How many steps these are, and how many steps the rows come from.
        any_window: Whether windows may differ by any factor.
    """
    length, source_length = lengths
    groups: dict[Hashable, list[int]] = {}
    for number in members:
        # A program without further steps continues alone.
        ended = length >= len(keys[number])
        key = ("end", number) if ended else keys[number][length]
        groups.setdefault(key, []).append(number)
    for group in groups.values():
        for alike in [group] if any_window else _of_like_windows(programs, group):
            if len(alike) == 1:
                yield Leaf(alike[0])
                continue
            end = length + 1
            while len({(*keys[n], None)[end] for n in alike}) == 1 and end < len(keys[alike[0]]):
                end += 1
            next_lengths = end, end if end >= LEAST else source_length
            children = tuple(_nodes(programs, starts, keys, alike, next_lengths, any_window))
            if end < LEAST:
                yield from children
            else:
                widest = max(alike, key=lambda n: (programs[n].window or 0, -n))
                start, whole = starts[widest], programs[widest]
                weak = start is not None and end <= start.length
                steps = start.program if start is not None and weak else whole
                program = _beginning(steps, end, _owner(programs, alike, end))
                if weak:
                    start = None
                program, checked = taking(program, start, source_length)
                yield Prefix(program, min(alike), tuple(alike), children, checked)


def taking(
    program: Program, start: WeakStart | None, length: int
) -> tuple[Program, tuple[Expression, ...]]:
    """Return how a program continues from rows of its first steps that another program found.

    Args:
        start: The weaker steps that it begins with.
        length: How many steps the rows come from; if `start` has fewer, the rows are not weaker.

    Returns:
        The program with the candidates of these rows, and the conditions left to check on them.
    """
    if start is None or length > start.length:
        return program, ()
    return start.onward(program, length), start.due(length)


def _of_like_windows(programs: Sequence[Program], group: Sequence[int]) -> list[list[int]]:
    """Return the programs in groups of similar windows, each in the order of numbers."""
    parts: list[list[int]] = []
    for number in sorted(group, key=lambda n: -(programs[n].window or 0)):
        window = programs[number].window or 0
        if parts and (programs[parts[-1][0]].window or 0) <= MOST_WIDER * window:
            parts[-1].append(number)
        else:
            parts.append([number])
    return sorted(sorted(part) for part in parts)


def _owner(programs: Sequence[Program], members: Sequence[int], length: int) -> int | None:
    """Return the one step whose event decides in all programs to which slice a match belongs."""
    places = set()
    for number in members:
        owners = programs[number].owners
        bound = programs[number].bound[:length]
        places.add(bound.index(owners[0]) if len(owners) == 1 and owners[0] in bound else None)
    return places.pop() if len(places) == 1 else None


def _beginning(program: Program, length: int, owner: int | None) -> Program:
    """Return the first steps of a program as a program."""
    absences = tuple(absence for absence in program.absences if absence.after < length)
    owners = () if owner is None else (program.bound[owner],)
    return _part_of(program, program.steps[:length], absences, owners)


def _part_of(
    program: Program,
    steps: tuple[AnyStep, ...],
    absences: tuple[Absence, ...],
    owners: tuple[str, ...],
) -> Program:
    """Return some steps of a program as a program."""
    bound = tuple(variable for step in steps for variable in step.variables)
    named = {*bound, *_absent(steps, absences)}
    used = {number for absence in absences for number in absence.step.classes}
    used |= {n for step in steps if isinstance(step, GroupStep) for n in _used(step)}
    classes = []
    for number, members in enumerate(program.classes):
        own = frozenset(member for member in members if member[0] in named)
        is_shared = len(own) > 1 and (number < program.linked or number in used)
        classes.append(own if is_shared else frozenset())
    return replace(
        program,
        variables=bound,
        steps=steps,
        sets=(),
        on_sets=(),
        overlapping=(),
        absences=absences,
        otherwise=(),
        classes=tuple(classes),
        owners=owners,
        constants=(),
    )


def _absent(steps: Sequence[AnyStep], absences: Sequence[Absence]) -> set[str]:
    """Return the negated variables that steps look for, those of subtrees included."""
    inner = (
        name
        for step in steps
        if isinstance(step, GroupStep)
        for name in _absent(step.steps, step.absences)
    )
    return {*(absence.step.variable for absence in absences), *inner}


def _used(group: GroupStep) -> set[int]:
    """Return the numbers of the classes by which a subtree looks for absent events."""
    used = {number for absence in group.absences for number in absence.step.classes}
    inner = (_used(step) for step in group.steps if isinstance(step, GroupStep))
    return used.union(*inner)


def weak_start(
    branch: Branch,
    program: Program,
    late: Late,
    compiled: Callable[[Branch, Sequence[str]], Program],
) -> WeakStart | None:
    """Return the weaker steps that a program begins with; None if there are none.

    Args:
        late: The part of the branch that comes from a weaker node.
        compiled: Compiles a branch by an order: `query.compile_branch`, which stands above.
    """
    order = program.bound[: len(late.variables)]
    if {*order} != {*late.variables} or not _equal_in_all(program, late):
        return None
    steps = compiled(weaker_branch(branch, late), order)
    weaker = replace(
        program,
        steps=steps.steps,
        absences=steps.absences,
        classes=steps.classes,
        linked=steps.linked,
    )
    return WeakStart(weaker, late.checked)


def _equal_in_all(program: Program, late: Late) -> bool:
    """Return whether the first steps demand or check each equality that later steps rely on."""
    links = [ends_of(each) for each in (*late.demanded, *late.checked) if is_link(each)]
    for members in program.classes[: program.linked]:
        own = {m for m in members if m[0] in late.variables and isinstance(m[1], str)}
        if any(attribute is None for _, attribute in members) or len(own) < 2:
            continue
        reached = {min(own)}
        while further := {m for link in links if link & reached for m in link} - reached:
            reached |= further
        if not own <= reached:
            return False
    return True
