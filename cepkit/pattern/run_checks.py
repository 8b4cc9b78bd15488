"""Checks of runs, KL(FIRST B b), GREEDY and UNTIL: earlier events decide their members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from cepkit.errors import PatternError, Span
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes as n
from cepkit.pattern.names import column_text, variable_text
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.printer import expression_text, structure_text
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import replaced


def check_runs(query: Query) -> None:
    """Refuse a query that leaves the members of a run open.

    Raises:
        PatternError: A condition compares members with more than events before the run.
    """
    runs = n.runs_in(query.structure)
    if not runs:
        return
    if query.strategy is Strategy.SKIP_TILL_NEXT_MATCH:
        raise PatternError(
            f"{structure_text(runs[0])} under skip-till-next-match, where a set takes all it can",
            hint=f"write {structure_text(_without_first(runs[0]))}, or another strategy",
            span=runs[0].span,
        )
    for branch in normal_form(query):
        for variable in branch.runs:
            for condition in _unclear(branch, variable):
                raise PatternError(
                    f"{expression_text(condition)} does not decide which events the run"
                    f" '{variable}' takes: it reads more than single events before the run",
                    expected=f"members of '{variable}' compared with earlier events",
                    hint=_instead(condition, variable),
                    span=_place_of(condition),
                )
            for other in _rivals(branch, variable):
                raise PatternError(
                    f"the run '{variable}' and the set '{other}' could take the same events",
                    expected="one of them before the other, or other types",
                    span=branch.event(variable).span,
                )


def _instead(condition: c.Expression, variable: str) -> str:
    match condition:
        case c.Comparison("=", c.Attribute(_, name), c.Attribute(_, same)) if name == same:
            return f"PARTITION BY {column_text(name)}, where all events of a match agree in it"
        case _:
            return (
                "a condition on the whole run is written with max, min, first or last,"
                f" as in max({variable_text(variable)}.price) < c.price"
            )


def check_loops(query: Query) -> None:
    """Refuse a query that leaves the end of a set open.

    Raises:
        PatternError: UNTIL depends on more than the events before the set, or GREEDY stands where
            every set takes all it can.
    """
    for node in n.walk(query.structure):
        in_turn = query.strategy is Strategy.SKIP_TILL_NEXT_MATCH
        if in_turn and isinstance(node, n.Kleene) and node.greedy:
            raise PatternError(
                f"{structure_text(node)} under skip-till-next-match, where a set takes all it can",
                hint=f"write {structure_text(replace(node, greedy=False))}",
                span=node.span,
            )
        if isinstance(node, n.Kleene) and node.greedy:
            _check_greedy(query, node)
    if not n.ends_of_loops_in(query.structure):
        return
    for branch in normal_form(query):
        for event in branch.negated:
            if event.beside is None or event.beside.place != "until":
                continue
            allowed = branch.before(event.variable) | {event.variable}
            for condition in branch.conditions:
                names = c.variables_of(condition)
                if event.variable in names and not names <= allowed:
                    raise PatternError(
                        f"{expression_text(condition)} does not decide where the set "
                        f"'{event.beside.variable}' ends: it reads more than the events before it",
                        expected=f"'{event.variable}' compared with events before the set",
                        span=_place_of(condition),
                    )


def _check_greedy(query: Query, node: n.Kleene) -> None:
    """Refuse a condition on members of a greedy set of which it is open whether it ends the set.

    Side by side members are added one by one; other greedy sets take all that fit by itself.
    """
    (event,) = n.events_of(node.item)
    for condition in c.conjuncts(query.where):
        if n.run_of(node) is n.Next:
            if event.variable in dict(c.member_attributes_of(condition)) and c.reads_ahead(
                condition, event.variable
            ):
                known = expression_text(replaced(condition, partial(_up_to, event.variable)))
                raise PatternError(
                    f"{expression_text(condition)} reads each member of the greedy run "
                    f"'{event.variable}' and members after it, so that it does not say where the "
                    "run ends",
                    expected=f"members up to each, as in {known}, or the whole run alone",
                    span=_place_of(condition),
                )
        elif c.set_of_running(condition) == event.variable:
            run = replace(node, item=n.Next(event))
            raise PatternError(
                f"{expression_text(condition)} does not decide where the greedy set "
                f"'{event.variable}' ends: an event that breaks it could end the set, be skipped, "
                "or rule out the match",
                expected=f"events side by side, where it ends the set: {structure_text(run)}",
                hint="without GREEDY, sets='maximal' gives the longest for each choice of others",
                span=condition.span,
            )


def _up_to(variable: str, node: c.Attribute | c.Aggregate) -> c.Expression:
    """Return a node with the members up to each in place of all members of a set."""
    if node.variable != variable or not c.reads_ahead(node, variable):
        return node
    assert isinstance(node, c.Aggregate)
    before = -1 - (c.place_of(node.function) or -1)
    return replace(node, function=c.prev_function(before) if before else c.RUNNING + node.function)


def _unclear(branch: Branch, variable: str) -> Iterator[c.Expression]:
    """Yield the conditions on members of a run that read more than earlier events."""
    absent = {event.variable for event in branch.negated}
    repeated = {name for name, _, _ in branch.repeated}
    allowed = (branch.before(variable) - repeated) | {variable}
    for condition in branch.conditions:
        names = c.variables_of(condition)
        members = {name for name, _ in c.member_attributes_of(condition)}
        clear = names <= allowed and not c.has_set_functions(condition)
        if variable in members and not names & absent and not clear:
            yield condition


def _rivals(branch: Branch, variable: str) -> Iterator[str]:
    """Yield the other sets that could take events from the middle of a run."""
    ordered = branch.before(variable) | branch.after(variable) | {variable}
    for name, _, _ in branch.repeated:
        if name not in ordered and branch.event(name).overlaps(branch.event(variable)):
            yield name


def _without_first(run: n.Kleene) -> n.Kleene:
    return replace(run, item=n.events_of(run.item)[0], greedy=False)


def _place_of(condition: c.Expression) -> Span | None:
    return condition.items[0].span if isinstance(condition, c.AllOf) else condition.span
