"""Checks of queries: each error points at its place; a likely mistake is a warning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes as n
from cepkit.pattern.aggregates import AGGREGATES, NAMES
from cepkit.pattern.condition_checks import Events, check_condition, check_forms, check_result
from cepkit.pattern.limits import refuse_too_deep, refuse_too_long
from cepkit.pattern.names import name_text
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import (
    CountWindow,
    SkipTo,
    StepBound,
    Strategy,
    TimeWindow,
    window_text,
)
from cepkit.pattern.printer import aggregate_text, bound_text, expression_text, structure_text
from cepkit.pattern.query import RESULT_ENDS, Query
from cepkit.pattern.repetitions import Repetitions
from cepkit.pattern.run_checks import check_loops, check_runs
from cepkit.pattern.structure_checks import check_names, check_structure, may_be_all
from cepkit.pattern.unrolling import unrolled
from cepkit.pattern.zones import in_zone, known_zone
from cepkit.stream.warnings import warn_of_condition, warn_of_short_window


def check(query: Query) -> Query:
    """Return a valid query with its repeated groups unrolled; refuse one without a meaning.

    The parser and the builder call it, so that users only ever hold checked queries.

    Raises:
        PatternError: The query means nothing; the error names the place.
    """
    if query.is_sound:
        return query
    original = query
    if query.unrolled_from is not None:
        query = replace(query, structure=query.written, groups=(), unrolled_from=None)
    refuse_too_deep(query.structure)
    refuse_too_deep(query.where)
    check_structure(query.structure)
    check_names(query.structure)
    _check_policies(query)
    names = [event.variable for event in n.events_of(query.structure)]
    if query.where is not None:
        check_forms(query.where)
        events = Events.of(query.structure)
        for condition in c.conjuncts(query.where):
            check_condition(condition, events)
    _check_aggregates(query, names)
    _check_after_match(query)
    _check_returned(query)
    part = may_be_all(query.structure)
    if part is not None:
        raise PatternError(
            f"a match could have no event, only the absence of {_names(part)}"
            if isinstance(part, n.Event | n.Seq | n.And)
            else f"a match could be without any event, as {structure_text(part)} may be left out",
            expected="at least one event that is not under NOT or OPT, in every branch of an OR",
            span=part.span,
        )
    _check_bounds(query)
    if n.repeated_in(query.structure):
        check_runs(query)
        check_loops(query)
    _warn_of_pitfalls(query)
    sound = original
    if query is original and n.groups_in(query.structure):
        sound = unrolled(query)
    if query.zone is not None:
        known_zone(query.zone)
        sound = in_zone(sound)
    vars(sound)["sound"] = True  # beside what cached properties keep
    return sound


def _check_policies(query: Query) -> None:
    refuse_too_long(query.window)
    if query.strategy is Strategy.PARTITION_CONTIGUITY and not query.partition_by:
        raise PatternError(
            "partition-contiguity without partitions",
            hint="add PARTITION BY attribute, or use STRATEGY strict-contiguity",
        )


def _check_aggregates(query: Query, names: list[str]) -> None:
    absent = n.absent_in(query.structure)
    ends = {event.variable for event in n.ends_of_loops_in(query.structure)}
    events = Events.of(query.structure)
    of_values = any(isinstance(each, c.ValueAggregate) for each in query.aggregates)
    for aggregate in query.aggregates:
        if isinstance(aggregate, c.ValueAggregate):
            _check_argument(aggregate, events)
            continue
        variable = aggregate.variable
        if variable is None and aggregate.attribute is not None:
            raise PatternError(
                f"AGG {aggregate.function.upper()} of '{aggregate.attribute}' without a variable",
                expected=f"a variable, as in {names[0]}.{aggregate.attribute}",
                span=aggregate.span,
            )
        if variable is not None and variable not in names:
            problem = f"'{variable}' is not a variable of the pattern"
            raise PatternError.unknown(problem, variable, names, span=aggregate.span)
        if variable is not None and variable in absent:
            place = "after UNTIL" if variable in ends else "under NOT"
            raise PatternError(
                f"AGG {aggregate.function.upper()} of '{variable}', which is {place}",
                expected="an event that matches have",
                span=aggregate.span,
            )
        definition = AGGREGATES.get(aggregate.function)
        if definition is None:
            raise PatternError(
                f"AGG {aggregate.function.upper()}", expected=NAMES, span=aggregate.span
            )
        if definition.takes != "anything" and aggregate.attribute is None:
            raise PatternError(
                f"AGG {aggregate.function.upper()} of no attribute",
                expected=f"an attribute, as in {aggregate.function.upper()}"
                f"({variable or names[0]}.price)",
                span=aggregate.span,
            )
        if of_values and variable in events.repeated:
            raise PatternError(
                f"AGG {aggregate_text(aggregate)} of the members of a set, beside aggregates of"
                " values of matches",
                expected="each in a separate query",
                hint=f"SUM(count({variable})) is the number of members, SUM(sum({variable}.price))"
                " their sum",
                span=aggregate.span,
            )
    if query.aggregates and isinstance(query.window, TimeWindow) and query.window.days is not None:
        raise PatternError(
            f"AGG over WITHIN {window_text(query.window)}, where matches expire by the clock",
            expected=f"a window of a fixed length, as in WITHIN {24 * query.window.days} hours",
            hint="without AGG `detect` finds the matches, and count() counts them",
            span=query.window.span,
        )
    if query.group_by and not query.aggregates:
        raise PatternError("GROUP BY without AGG", hint="add AGG COUNT, or drop GROUP BY")
    for threshold in query.having:
        _check_threshold(threshold, query.aggregates)


def _check_argument(aggregate: c.ValueAggregate, events: Events) -> None:
    """Check that the argument of an aggregate has one value in each match."""
    argument = aggregate.argument
    refuse_too_deep(argument)
    check_result(argument, events, "AGG")
    if isinstance(argument, c.Attribute) and argument.variable in events.repeated:
        text = expression_text(argument)
        raise PatternError(
            f"AGG {aggregate_text(aggregate)}, where '{argument.variable}' is a set, so each match"
            " has many values",
            expected=f"a function of the set, as in max({text}) or count(DISTINCT {text})",
            span=aggregate.span,
        )


def _check_threshold(threshold: c.Comparison, aggregates: tuple[c.Aggregate, ...]) -> None:
    span = threshold.span
    if not aggregates:
        raise PatternError("HAVING without AGG", hint="add AGG COUNT, or drop HAVING", span=span)
    match threshold:
        case c.Comparison(_, c.Aggregate(), c.Literal(int() | float() | timedelta() as number)):
            if isinstance(number, bool):
                raise PatternError("HAVING with a truth value", expected="a number", span=span)
        case _:
            raise PatternError(
                f"HAVING {expression_text(threshold)}",
                expected="an aggregate compared with a number or a duration, as in COUNT > 10",
                span=span,
            )
    if threshold.left not in aggregates:
        assert isinstance(threshold.left, c.Aggregate)
        raise PatternError(
            f"HAVING {aggregate_text(threshold.left)}, which is not in AGG",
            expected=f"one of {', '.join(map(aggregate_text, aggregates))}",
            hint="add it to AGG",
            span=span,
        )


def _check_after_match(query: Query) -> None:
    skip = query.after_match
    if skip is None:
        return
    if query.strategy is Strategy.SKIP_TILL_NEXT_MATCH:
        raise PatternError(
            f"AFTER MATCH SKIP with {query.strategy}, which chooses among the matches itself",
            expected="one of them",
            span=skip.span,
        )
    if skip.variable is None:
        return
    name = skip.variable
    names = tuple(event.variable for event in n.bound_events_of(query.structure))
    if name not in names:
        problem = f"'{name}' is not an event that matches have"
        raise PatternError.unknown(problem, name, names, span=skip.span)
    groups = unrolled(query).groups
    for branch in normal_form(query):
        named = Repetitions(groups, branch.variables).named(name)
        member = named[-1 if skip.to is SkipTo.LAST else 0]
        if member not in branch.variables:
            problem = f"a match may lack '{name}', so the place of the next match is open"
        elif not branch.before(member) & {*branch.variables}:
            problem = f"a match may start with '{name}', so it would leave out no other match"
        else:
            continue
        raise PatternError(
            problem,
            expected="an event that always has another before it",
            hint="AFTER MATCH SKIP TO NEXT, or PAST LAST EVENT",
            span=skip.span,
        )


def _check_returned(query: Query) -> None:
    if query.returned and (query.aggregates or query.group_by):
        raise PatternError(
            "RETURN together with AGG: RETURN defines columns of matches, AGG asks for no matches",
            expected="one of them",
            span=query.returned[0].span,
        )
    events = Events.of(query.structure)
    names = {*RESULT_ENDS}
    for result in query.returned:
        refuse_too_deep(result.value)
        check_result(result.value, events)
        if not result.name or result.name in names:
            why = "is a column of all matches" if result.name in RESULT_ENDS else "occurs twice"
            raise PatternError(
                f"RETURN: '{result.name}' {why}"
                if result.name
                else "RETURN: a column without a name",
                expected="a name of its own for each column, as in a.price AS paid",
                span=result.span,
            )
        names.add(result.name)


def _names(part: n.Structure) -> str:
    return " and ".join(f"'{event.variable}'" for event in n.events_of(part))


def _check_bounds(query: Query) -> None:
    """Refuse bounds that restrict no match, and warn of those that the window cuts short.

    Raises:
        PatternError: A bound restricts no match.
    """
    for bound in query.bounds:
        _check_window(bound)
        _check_ends(bound, query)
        _check_order(bound, query)
        if (absent := _cut_short(bound, query)) is not None:
            assert query.window is not None
            warn_of_short_window(
                structure_text(absent), bound_text(bound), window_text(query.window), query
            )


def _cut_short(bound: StepBound, query: Query) -> n.Not | n.Opt | None:
    """Return the NOT, or greedy OPT, whose bound reaches further than the window; else None.

    There the window decides. A NOT between two events of a match lies in its window in any case.
    """
    window = query.window
    if not isinstance(window, TimeWindow) or not isinstance(bound.window, TimeWindow):
        return None
    if bound.window.most <= window.most:
        return None
    for branch in normal_form(query):
        positive = {*branch.variables}
        open_ended = {
            event.variable
            for event in branch.negated
            if event.beside is None
            and not (
                branch.before(event.variable) & positive and branch.after(event.variable) & positive
            )
        }
        names = {event.variable for event in (*branch.positive, *branch.negated)}
        for each in Repetitions(unrolled(query).groups, names).bounds(bound):
            ends = {each.first, each.last}
            if ends <= names and ends & open_ended:
                absent = (
                    node for node in n.walk(query.structure) if isinstance(node, n.Not | n.Opt)
                )
                own = {bound.first, bound.last}
                return next(one for one in absent if own & {e.variable for e in n.events_of(one)})
    return None


def _check_window(bound: StepBound) -> None:
    if isinstance(bound.window, CountWindow):
        raise PatternError(
            "a number of events between two events of a match",
            expected="a duration, as in WITHIN 5 minutes FROM a TO c",
            hint="WITHIN 100 EVENTS without FROM is about the whole match",
            span=bound.window.span or bound.span,
        )
    refuse_too_long(bound.window)


def _check_ends(bound: StepBound, query: Query) -> None:
    names = tuple(event.variable for event in n.events_of(query.structure))
    for name in (bound.first, bound.last):
        if name not in names:
            problem = f"'{name}' is not a variable of the pattern"
            raise PatternError.unknown(problem, name, names, span=bound.span)
    if bound.first == bound.last and bound.first not in n.repeated_in(query.structure):
        raise PatternError(
            f"the time from '{bound.first}' to itself, which is one event",
            expected="two events, or a set: its first and last member",
            span=bound.span,
        )
    ends = {bound.first, bound.last}
    together = any(ends <= names for names in n.together_in(query.structure))
    if ends <= n.absent_in(query.structure) and not together:
        raise PatternError(
            f"the time between two absent events, '{bound.first}' and '{bound.last}'",
            expected="events under at most one NOT",
            span=bound.span,
        )


def _check_order(bound: StepBound, query: Query) -> None:
    orders = []
    for branch in normal_form(query):
        names = {event.variable for event in (*branch.positive, *branch.negated)}
        repetitions = Repetitions(unrolled(query).groups, names)
        pairs = [(each.last, each.first) for each in repetitions.bounds(bound)]
        if all(names.issuperset(pair) for pair in pairs):
            orders.append(branch.order.issuperset(pairs))
    if not orders:
        raise PatternError(
            f"'{bound.first}' and '{bound.last}' stand in two branches of an OR",
            expected="variables that a match can have together",
            hint="write one bound for each branch",
            span=bound.span,
        )
    if all(orders):
        turned = StepBound(bound.last, bound.first, bound.window)
        raise PatternError(
            f"'{bound.last}' is before '{bound.first}'",
            hint=f"write {bound_text(turned)}",
            span=bound.span,
        )


_NULL = c.Literal(None)


def _warn_of_pitfalls(query: Query) -> None:
    """Warn of comparisons with NULL, and of NEXT between events of one key without PARTITION BY."""
    for condition in c.conjuncts(query.where):
        for node in c.walk(condition):
            for instead in _without_null(node):
                warn_of_condition(
                    f"a comparison with NULL never holds: {instead}",
                    condition.span if node.span is None else node.span,
                    query,
                )
    _warn_of_neighbours(query)


def _without_null(node: c.Expression) -> Iterator[str]:
    """Yield a replacement for each comparison with NULL."""
    match node:
        case c.Comparison(operator, left, right) if _NULL in (left, right):
            test = "IS NOT NULL" if operator == "!=" else "IS NULL"
            yield f"write {expression_text(left if right == _NULL else right)} {test}"
        case c.InList(operand, choices, negated) if _NULL in choices and (
            negated or len(choices) == 1
        ):
            test = "IS NOT NULL" if negated else "IS NULL"
            yield f"write {expression_text(operand)} {test}{', and NOT IN without NULL' * negated}"
        case _:
            pass


def _warn_of_neighbours(query: Query) -> None:
    """Warn where all events of a match share a key, and NEXT goes by the events of all keys."""
    if query.partition_by:
        return
    nexts = [node for node in n.walk(query.structure) if isinstance(node, n.Next)]
    strict = query.strategy is Strategy.STRICT_CONTIGUITY
    if not nexts and not strict:
        return
    equal: dict[str, list[c.Comparison]] = {}
    for condition in c.conjuncts(query.where):
        match condition:
            case c.Comparison("=", c.Attribute(x, name), c.Attribute(y, other)):
                if name == other and x != y:
                    equal.setdefault(name, []).append(condition)
            case _:
                pass
    present = {e.variable for e in n.events_of(query.structure)} - n.absent_in(query.structure)
    for name, conditions in equal.items():
        if present <= {variable for each in conditions for variable in each.variables}:
            what = str(query.strategy) if strict else structure_text(nexts[0])
            instead = f"PARTITION BY {name_text(name)}"
            if strict:
                instead += " STRATEGY partition-contiguity"
            warn_of_condition(
                f"{what} counts all events of the stream, so one of another '{name}' in between"
                f" rules out a match; to count only events of the same '{name}': {instead}",
                conditions[0].span,
                query,
            )
            return
