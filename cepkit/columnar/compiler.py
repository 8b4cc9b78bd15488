"""From a branch and an order to a program: the conditions dealt out to the steps.

Each condition goes to the first step at which all its variables are bound. There it becomes, from
cheap to dear,
- an equality of two attributes: a class, looked up by key. Classes are closed: a.k = b.k and
  b.k = c.k link a with c too, whatever the order;
- a band, where one side is about the new variable alone and the other about bound ones:
  `least <= column <= most` in the inner loop;
- a residue: anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cepkit.columnar.program import Absence, Band, Bound, Clock, Member, Program, Step, Windows
from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import (
    Attribute,
    Comparison,
    Expression,
    attributes_of,
    conjuncts,
    variables_of,
)
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.rewrite import MIRRORED, without_not


def refuse_unsupported(branch: Branch) -> None:
    """Refuse, by name, what the engine cannot detect.

    Raises:
        UnsupportedError: The branch has such a part.
    """
    part = None
    if branch.repeated:
        part = f"KL ('{branch.repeated[0][0]}')"
    elif branch.strategy is Strategy.SKIP_TILL_NEXT_MATCH:
        part = f"STRATEGY {branch.strategy.value}"
    if part:
        raise UnsupportedError(
            f"this release cannot detect {part} yet",
            expected="SEQ, AND, OR and NOT, under skip-till-any-match or contiguity",
        )


def window_length(branch: Branch) -> int | None:
    """Return the greatest difference of times inside a match in microseconds; None: any."""
    if isinstance(branch.window, TimeWindow):
        return branch.window.microseconds - branch.window.exclusive
    return None


def windows_of(branch: Branch, *, absent: bool = False) -> Windows:
    """Return how far apart two events of a match may be.

    Contiguity is a window too: as many events as a match has lie side by side exactly where the
    first and the last are that near. It says nothing of what must be absent.

    Args:
        branch: The branch.
        absent: Whether one of the events is a negated one.
    """
    windows: list[tuple[int, Clock]] = []
    length = window_length(branch)
    if length is not None:
        windows.append((length, "time"))
    if isinstance(branch.window, CountWindow):
        count = branch.window.events - 1 - branch.window.exclusive
        windows.append((count, "place" if branch.partition_by else "arrival"))
    side_by_side = len(branch.positive) - 1
    if branch.strategy is Strategy.STRICT_CONTIGUITY and not absent:
        windows.append((side_by_side, "arrival"))
    if branch.strategy is Strategy.PARTITION_CONTIGUITY and not absent:
        windows.append((side_by_side, "place"))
    clocks = dict.fromkeys(clock for _, clock in windows)
    return tuple((min(n for n, c in windows if c == clock), clock) for clock in clocks)


def compile_branch(branch: Branch, order: Sequence[str], earlier: Sequence[Branch] = ()) -> Program:
    """Return the program that evaluates `branch` in `order`.

    Args:
        branch: One branch of a normal form.
        order: A permutation of its variables.
        earlier: The branches before it in the normal form.

    Raises:
        UnsupportedError: The branch has a part that the engine cannot detect.
    """
    refuse_unsupported(branch)
    same = [other for other in earlier if set(other.variables) == set(branch.variables)]
    compiler = _Compiler(branch, order, same)
    steps = tuple(compiler.step(variable, order[:i]) for i, variable in enumerate(order))
    absences = compiler.absences(branch)
    otherwise = tuple(compiler.absences(other) for other in same)
    conditions = [c for one in (branch, *same) for c in one.conditions]
    return Program(
        branch.variables,
        steps,
        absences,
        otherwise,
        tuple(compiler.classes),
        compiler.linked,
        tuple(v for v in branch.variables if not branch.after(v) & set(branch.variables)),
        window_length(branch),
        windows_of(branch),
        frozenset(name for c in conditions for _, name in attributes_of(c)),
        branch.partition_by,
        tuple(part for part in compiler.parts if not variables_of(part)),
    )


class _Compiler:
    """Deals the conditions of a branch out to the steps of an order."""

    def __init__(self, branch: Branch, order: Sequence[str], same: Sequence[Branch]) -> None:
        self._branch = branch
        self._order = order
        self._absences: dict[str, Absence] = {}
        self.parts = _parts(c for c in branch.conditions if variables_of(c) <= set(order))
        links = [part for part in self.parts if _is_link(part)]
        self.parts = [part for part in self.parts if part not in links]
        names = [e.variable for one in (branch, *same) for e in one.positive + one.negated]
        partition = frozenset((name, None) for name in names) if branch.partition_by else None
        self.classes = _close(links, partition)
        self.linked = len(self.classes)

    def step(self, variable: str, bound: Sequence[str]) -> Step:
        """Return how `variable` is bound when those in `bound` are."""
        due = [
            part
            for part in self.parts
            if variable in variables_of(part) and variables_of(part) <= {*bound, variable}
        ]
        classes = [
            number
            for number, members in enumerate(self.classes[: self.linked])
            if variable in _names(members) and _names(members) & set(bound)
        ]
        return _step(self._branch, variable, bound, due, classes)

    def absences(self, branch: Branch) -> tuple[Absence, ...]:
        """Return the negated variables of `branch`, in the order in which they can be checked."""
        for event in branch.negated:
            if event.variable not in self._absences:
                self._absences[event.variable] = self._absence(branch, event.variable)
        found = [self._absences[event.variable] for event in branch.negated]
        return tuple(sorted(found, key=lambda absence: absence.after))

    def _absence(self, branch: Branch, variable: str) -> Absence:
        # A condition about what must be absent is about nothing else, all parts of it.
        due = _parts(c for c in branch.conditions if variable in variables_of(c))
        numbers = [i for i, members in enumerate(self.classes) if (variable, None) in members]
        # An equality with what must be absent holds only for what must be absent: it links
        # nothing else, but whatever is equal to the bound side is as good a partner.
        links = [part for part in due if _is_link(part) and variable in variables_of(part)]
        for link in links:
            ends = _ends(link)
            own = frozenset(member for member in ends if member[0] == variable)
            others = ends - own
            known = [members for members in self.classes[: self.linked] if members & others]
            numbers.append(len(self.classes))
            self.classes.append(own.union(others, *known))
        due = [part for part in due if part not in links]
        step = _step(branch, variable, branch.variables, due, numbers)
        needed = {bound.variable for bound in (*step.lower, *step.upper)}
        needed.update(step.distinct_from)
        if any(clock != "time" for _, clock in step.windows):
            needed.update(branch.variables)  # arrival need not follow time
        for condition in (*step.residues, *(band.other for band in step.bands)):
            needed |= variables_of(condition)
        if step.classes:
            partners = [_names(self.classes[number]) - {variable} for number in step.classes]
            # Any one partner will do; the partition has one in every step.
            positions = [min(map(self._position, names)) for names in partners]
        else:
            positions = []
        after = max((*map(self._position, needed - {variable}), *positions), default=0)
        return Absence(step, after)

    def _position(self, variable: str) -> int:
        return self._order.index(variable) if variable in self._order else len(self._order)


def _step(
    branch: Branch,
    variable: str,
    bound: Sequence[str],
    due: Sequence[Expression],
    classes: Iterable[int],
) -> Step:
    windows = windows_of(branch, absent=variable not in branch.variables)
    bands = [_band(part, variable) for part in due]
    return Step(
        branch.event(variable),
        tuple(part for part in due if variables_of(part) == {variable}),
        tuple(classes),
        _lower(branch, variable, bound, windows),
        _upper(branch, variable, bound, windows),
        windows,
        tuple(band for band in bands if band is not None),
        tuple(
            part
            for part, band in zip(due, bands, strict=True)
            if band is None and variables_of(part) != {variable}
        ),
        tuple(x for x in bound if _may_coincide(branch, x, variable)),
    )


def _parts(conditions: Iterable[Expression]) -> list[Expression]:
    return [part for c in conditions for part in conjuncts(without_not(c))]


def _is_link(part: Expression) -> bool:
    """Whether `part` is an equality of attributes of two variables."""
    match part:
        case Comparison("=", Attribute(x), Attribute(y)):
            return x != y
        case _:
            return False


def _ends(link: Expression) -> frozenset[Member]:
    assert isinstance(link, Comparison)
    assert isinstance(link.left, Attribute)
    assert isinstance(link.right, Attribute)
    return frozenset((side.variable, side.name) for side in (link.left, link.right))


def _close(
    links: Iterable[Expression], partition: frozenset[Member] | None
) -> list[frozenset[Member]]:
    """Return the classes of members that the links make equal, and that of the partition."""
    classes: list[frozenset[Member]] = []
    for link in links:
        touched = [members for members in classes if members & _ends(link)]
        classes = [members for members in classes if not members & _ends(link)]
        classes.append(_ends(link).union(*touched))
    return classes if partition is None else [*classes, partition]


def _names(members: Iterable[Member]) -> set[str]:
    return {variable for variable, _ in members}


def _band(part: Expression, variable: str) -> Band | None:
    if not isinstance(part, Comparison) or part.operator == "!=":
        return None
    for own, other, operator in (
        (part.left, part.right, part.operator),
        (part.right, part.left, MIRRORED[part.operator]),
    ):
        bound = variables_of(other)
        if variables_of(own) == {variable} and bound and variable not in bound:
            return Band(own, operator, other)
    return None


def _lower(
    branch: Branch, variable: str, bound: Sequence[str], windows: Windows
) -> tuple[Bound, ...]:
    before = [x for x in bound if x in branch.before(variable)]
    if before:
        # Later than the latest of those before it; all the others follow, and so does the window
        # in time: the latest are inside it already.
        latest = [x for x in before if not branch.after(x) & set(before)]
        return tuple(Bound(x, 1) for x in latest)
    latest = [x for x in bound if not branch.after(x) & set(bound)]
    return tuple(Bound(x, -length, clock) for length, clock in windows for x in latest)


def _upper(
    branch: Branch, variable: str, bound: Sequence[str], windows: Windows
) -> tuple[Bound, ...]:
    after = [x for x in bound if x in branch.after(variable)]
    if after:
        earliest = [x for x in after if not branch.before(x) & set(after)]
        return tuple(Bound(x, 0) for x in earliest)
    earliest = [x for x in bound if not branch.before(x) & set(bound)]
    return tuple(Bound(x, length + 1, clock) for length, clock in windows for x in earliest)


def _may_coincide(branch: Branch, x: str, y: str) -> bool:
    if y in branch.before(x) or y in branch.after(x):
        return False
    first, second = branch.event(x).types, branch.event(y).types
    return first is None or second is None or bool(first & second)
