"""Short texts of a branch's conditions for figures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise, permutations

from cepkit.pattern.conditions import Expression, variables_of
from cepkit.pattern.names import name_text, variable_text
from cepkit.pattern.nodes import And, Beside, Event, First, Kleene, Seq
from cepkit.pattern.normal_form import Branch, next_in
from cepkit.pattern.policies import Strategy, window_text
from cepkit.pattern.printer import expression_text, structure_text
from cepkit.pattern.rewrite import renamed
from cepkit.statistics.model import Statistics


def event_text(branch: Branch, variable: str) -> str:
    """Return a positive event as in the pattern, with its bounds if it is repeated."""
    node = branch.event(variable)
    for name, least, most in branch.repeated:
        if name == variable:
            item = First(node) if variable in branch.runs else node
            return structure_text(Kleene(item, least, most))
    return structure_text(node)


def scope_text(branch: Branch, variable: str, bound: Sequence[str]) -> str:
    """Say between which of the bound variables an event lies: the nearest on either side."""
    latest, earliest = branch.neighbours(variable, bound)
    parts = [
        f"{word} {' and '.join(map(variable_text, names))}"
        for word, names in (("after", latest), ("before", earliest))
        if names
    ]
    return ", ".join(parts)


def order_texts(branch: Branch, left: Collection[str], right: Collection[str]) -> tuple[str, ...]:
    """Describe the order between the events of two sides, beyond the order within each side.

    Returns:
        Texts as "a and b before c before d", which together imply the rest.
    """
    both = {*left, *right}
    after: dict[str, list[str]] = {}
    for x in branch.variables:
        if x not in both:
            continue
        later = branch.after(x) & both
        next_ones = {y for y in later if not branch.before(y) & later}
        after[x] = [y for y in branch.variables if y in next_ones and (x in left) != (y in left)]
    # Group the events that precede the same ones, then continue with those.
    groups: dict[tuple[str, ...], list[str]] = {}
    for x, ys in after.items():
        if ys:
            groups.setdefault(tuple(ys), []).append(x)
    steps = {tuple(xs): ys for ys, xs in groups.items()}
    texts = []
    for xs in [xs for xs in steps if xs not in steps.values()]:
        orders, here = [xs], xs
        while here in steps:
            here = steps[here]
            orders.append(here)
        texts.append(" before ".join(" and ".join(map(variable_text, names)) for names in orders))
    return tuple(texts)


def absence_text(branch: Branch, events: Sequence[Event]) -> str:
    """Describe events that must be absent, one or several together: where, on which conditions."""
    event = events[0]
    scope = scope_text(branch, event.variable, branch.variables)
    if event.earlier_than is not None:
        first = structure_text(First(branch.event(event.earlier_than)))
        return f"{first}, none {scope}"
    own = {each.variable for each in events}
    about: list[Expression] = [c for c in branch.conditions if variables_of(c) & own]
    text = " ".join(part for part in (f"no {_together_text(branch, events)}", scope) if part)
    if event.beside is not None:
        text = _beside_text(branch, event, event.beside)
        if event.beside.place != "until":
            if any(next_in(c) is not None for c in about):
                text = text.replace("behind", "right behind", 1)
            own_name = {event.variable: event.beside.variable}
            about = [renamed(c, own_name) for c in about if next_in(c) is None]
    where = " AND ".join(map(expression_text, about))
    return f"{text}, where {where}" if where else text


def _beside_text(branch: Branch, event: Event, beside: Beside) -> str:
    """Return which event must not be beside a set, and where."""
    name = variable_text(beside.variable)
    if beside.place == "until":
        return f"no {structure_text(event)} up to the last of {name}"
    another = structure_text(branch.event(beside.variable))
    where = {"before": "before the first", "behind": "behind the last"}.get(beside.place, "inside")
    end = branch.until(beside.variable)
    unless = "" if end is None else f", unless {structure_text(end)} comes between"
    return f"no other {another} {where} of {name}{unless}"


def _together_text(branch: Branch, events: Sequence[Event]) -> str:
    """Return events that are absent together as SEQ where each is before the next, else as AND."""
    if len(events) == 1:
        return structure_text(events[0])
    names = [event.variable for event in events]
    if all(pair in branch.order for pair in pairwise(names)):
        return structure_text(Seq(tuple(events)))
    known = [(x, y) for x, y in permutations(names, 2) if (x, y) in branch.order]
    before = [f"{variable_text(x)} before {variable_text(y)}" for x, y in known]
    return ", ".join((structure_text(And(tuple(events))), *before))


def partition_text(branch: Branch) -> str:
    """Return which attributes are equal in all events; empty for none."""
    names = ", ".join(map(name_text, branch.partition_by))
    return f"same {names}" if names else ""


def common_text(branch: Branch) -> str:
    """Return the requirements on all events of a match in words: window, partition, strategy."""
    window = "" if branch.window is None else f"within {window_text(branch.window)}"
    strategy = "" if branch.strategy is Strategy.SKIP_TILL_ANY_MATCH else branch.strategy.value
    return ", ".join(part for part in (window, partition_text(branch), strategy) if part)


def statistics_texts(
    statistics: Statistics | None, bound: Collection[str], known: Iterable[Collection[str]] = ()
) -> tuple[str, ...]:
    """Return the conditions that the statistics name, if there is no query.

    Args:
        statistics: Those of the plan, if any.
        bound: The bound variables, in the order of the text.
        known: The sides bound before; conditions within one side are left out.
    """
    if statistics is None:
        return ()
    before = [set(side) for side in known]
    groups = [{v} for v in bound if v in statistics.filters]
    groups += [set(names) for names in statistics.selectivities if names <= set(bound)]
    texts = []
    for names in groups:
        if not any(names <= side for side in before):
            listed = ", ".join(variable_text(v) for v in bound if v in names)
            texts.append(f"conditions {'between' if len(names) > 1 else 'on'} {listed}")
    return tuple(texts)
