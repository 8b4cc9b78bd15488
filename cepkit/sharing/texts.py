"""Sub-patterns as texts in which events are called by their types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from cepkit.pattern.canonical import canonical_conditions
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.names import name_text
from cepkit.pattern.printer import expression_text
from cepkit.plan.negation import depends_on
from cepkit.sharing.workload import Places, Sharer


def labels(sharer: Sharer, places: Sequence[int]) -> tuple[str, ...]:
    """Return short names of some events: their types, numbered where one occurs again."""
    branch = sharer.said.branch
    seen: Counter[str] = Counter()
    names = []
    for place in places:
        types = branch.event(sharer.said.variables[place]).types
        name = "ANY" if types is None else "|".join(map(name_text, sorted(types)))
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(names)


def sub_pattern_text(sharer: Sharer, places: Places) -> str:
    """Return ``SEQ(A, B) where A.x < B.x``: some variables of a branch and what is said of them."""
    said = sharer.said
    branch = said.branch
    variables = [said.variables[place] for place in places]
    names = dict(zip(variables, labels(sharer, places), strict=True))
    kept = {
        variable: f"KL({name})"
        for variable, name in names.items()
        if any(variable == repeated for repeated, _, _ in branch.repeated)
    }
    before = {pair for pair in branch.order if {*pair} <= {*variables}}
    in_time = sorted(variables, key=lambda v: sum((x, v) in before for x in variables))
    shown = [kept.get(variable, names[variable]) for variable in in_time]
    if len(variables) == 1:
        text = shown[0]
    elif all((x, y) in before for x, y in combinations(in_time, 2)):
        text = f"SEQ({', '.join(shown)})"
    else:
        pairs = sorted(f"{names[x]} before {names[y]}" for x, y in before)
        text = f"AND({', '.join(shown)})" + (f", {', '.join(pairs)}" if pairs else "")
    conditions = [
        expression_text(part)
        for condition in branch.conditions
        if variables_of(condition) <= {*variables}
        for part in canonical_conditions([condition], names)
    ]
    absent = [
        f"NOT({'|'.join(sorted(event.types or {'ANY'}))})"
        for event in branch.negated
        if depends_on(branch, event.variable) <= {*variables}
    ]
    conditions = sorted({*conditions}) + absent
    return f"{text} where {' and '.join(conditions)}" if conditions else text
