"""Sub-patterns as texts, with types as names of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from cepkit.pattern.canonical import canonical_conditions
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.names import name_text
from cepkit.pattern.nodes import Event
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.printer import expression_text
from cepkit.plan.negation import depends_on
from cepkit.sharing.workload import Places, Sharer


def labels(sharer: Sharer, places: Sequence[int]) -> tuple[str, ...]:
    """Return short names of some events: their types, numbered if a type occurs again."""
    branch = sharer.description.branch
    return _names_of([branch.event(sharer.description.variables[place]) for place in places])


def _names_of(events: Iterable[Event]) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    names = []
    for event in events:
        types = event.types
        name = "ANY" if types is None else "|".join(map(name_text, sorted(types)))
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(names)


def sub_pattern_text(sharer: Sharer, places: Places) -> str:
    """Return ``SEQ(A, B) where A.x < B.x``: some variables of a branch and their conditions.

    Different sub-patterns have different texts, except that windows are not mentioned.
    """
    branch = sharer.description.branch
    variables = [sharer.description.variables[place] for place in places]
    names = dict(zip(variables, labels(sharer, places), strict=True))
    conditions = {
        expression_text(part)
        for condition in branch.conditions
        if variables_of(condition) <= {*variables}
        for part in canonical_conditions([condition], names)
    }
    absent = sorted(
        _absence_text(branch, events, names)
        for events in branch.absences
        if depends_on(branch, events[0].variable) <= {*variables}
    )
    parts = [_structure_text(branch, names)]
    if conditions or absent:
        parts.append(f"where {' and '.join([*sorted(conditions), *absent])}")
    if branch.partition_by:
        parts.append(f"partition by {', '.join(sorted({*branch.partition_by}))}")
    return " ".join(parts)


def _structure_text(branch: Branch, names: Mapping[str, str]) -> str:
    bounds = {
        v: f"{{{low},{most or ''}}}" for v, low, most in branch.repeated if (low, most) != (1, None)
    }
    repeated = {v: f"KL({names[v]}){bounds.get(v, '')}" for v, *_ in branch.repeated if v in names}
    before = {(x, y) for x, y in branch.order if x in names and y in names}
    in_time = sorted(names, key=lambda v: sum((x, v) in before for x in names))
    shown = ", ".join(repeated.get(variable, names[variable]) for variable in in_time)
    if len(names) == 1:
        return shown
    if all(pair in before for pair in combinations(in_time, 2)):
        return f"SEQ({shown})"
    pairs = sorted(f"{names[x]} before {names[y]}" for x, y in before)
    return ", ".join((f"AND({shown})", *pairs))


def _absence_text(branch: Branch, events: Sequence[Event], names: Mapping[str, str]) -> str:
    """Return ``NOT(N after A before B, N.x > A.x)``; of several events each with its place."""
    own = dict(zip((e.variable for e in events), _names_of(events), strict=True))
    names = {**names, **own}
    about = (c for c in branch.conditions if variables_of(c) & own.keys())
    parts = [expression_text(c) for c in canonical_conditions(about, names)]
    places = []
    for variable, name in own.items():
        after = [f"after {names[x]}" for x in sorted(branch.before(variable)) if x in names]
        before = [f"before {names[x]}" for x in sorted(branch.after(variable)) if x in names]
        places.append(" ".join((name, *after, *before)))
    event = events[0]
    word = "NOT" if event.earlier_than is None else "FIRST"
    if event.beside is not None:
        word = event.beside.place.upper()
    return f"{word}({', '.join((*places, *parts))})"
