"""A pattern in plain English: what a match is, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from cepkit.pattern import conditions as c
from cepkit.pattern.kinds import raised
from cepkit.pattern.limits import refuse_too_deep
from cepkit.pattern.names import column_text, name_text, variable_text
from cepkit.pattern.nodes import (
    And,
    Event,
    First,
    Kleene,
    Next,
    Not,
    Opt,
    Or,
    Seq,
    Structure,
    absent_in,
    walk,
)
from cepkit.pattern.parameters import occurrences_in
from cepkit.pattern.policies import CountWindow, SkipTo, Strategy, Window, window_text
from cepkit.pattern.printer import aggregate_text, expression_text
from cepkit.pattern.query import Query
from cepkit.pattern.zones import as_written

_COMPARED = {
    "=": "is equal to",
    "!=": "differs from",
    "<>": "differs from",
    "<": "is less than",
    "<=": "is at most",
    ">": "is greater than",
    ">=": "is at least",
}
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
_STRATEGIES = {
    Strategy.SKIP_TILL_ANY_MATCH: "Other events may come in between, and every combination that "
    "fits is a match.",
    Strategy.SKIP_TILL_NEXT_MATCH: "Other events may come in between; each event is in one match "
    "at most.",
    Strategy.STRICT_CONTIGUITY: "No other event comes in between.",
    Strategy.PARTITION_CONTIGUITY: "No other event of the same partition comes in between.",
}
_SKIPS = {
    SkipTo.PAST_LAST_EVENT: "after the last event of the one before",
    SkipTo.NEXT: "after the first event of the one before",
    SkipTo.FIRST: "at the first {} of the one before",
    SkipTo.LAST: "at the last {} of the one before",
}


def in_words(query: Query) -> tuple[str, ...]:
    r"""Return what a match of `query` is, in sentences of plain English.

    Args:
        query: A query that passed `checks.check`.

    Raises:
        PatternError: The query did not pass, and is nested too deeply.

    Example:
        >>> from cepkit.pattern.parsing.parser import parse
        >>> query = parse("PATTERN SEQ(A a, NOT(B n), FIRST C c) WHERE a.x < c.x WITHIN 5 min")
        >>> print(*in_words(query), sep="\n")
        A match is an A (a), then the first C (c) that fits. Between a and c there is no B (n).
        The x of a is less than the x of c.
        From the first event to the last at most 5 minutes pass.
        Other events may come in between, and every combination that fits is a match.
    """
    for part in (query.written, query.where):
        refuse_too_deep(part)
    # The stand-in for a window tells nothing of its name.
    unknown = [f"${each.name}" for each in occurrences_in(query.text or "") if each.is_window]
    kinds, plain = raised(as_written(query))
    sentences = []
    for kind in kinds:
        base = "event" if kind.types is None else _either(sorted(kind.types))
        sentences.append(
            f"{kind.name} means {_with_article(base)} with {_condition(kind.condition)}."
        )
    sentences.append(" ".join([f"A match is {_said(plain.written)}.", *_absences(plain.written)]))
    absent = absent_in(plain.written)
    for condition in c.conjuncts(plain.where):
        said = _condition(condition)
        if under_not := sorted(c.variables_of(condition) & absent):
            named = _all(map(variable_text, under_not))
            sentences.append(f"Only an event counts as {named} where {said}.")
            continue
        sentences.append(f"{_capital(said)}." if said.startswith("the ") else f"It holds: {said}.")
    if plain.partition_by:
        names = _all(map(column_text, plain.partition_by))
        sentences.append(f"All events of a match have the same {names}.")
    if unknown:
        sentences.append(f"From the first event to the last at most {unknown[0]} pass.")
    elif plain.window is not None:
        sentences.append(f"From the first event to the last {_within(plain.window)}.")
    for bound in plain.bounds:
        ends = f"From {variable_text(bound.first)} to {variable_text(bound.last)}"
        sentences.append(f"{ends} {_within(bound.window)}.")
    several = sum(isinstance(node, Event) for node in walk(plain.written)) > 1
    if several or plain.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        sentences.append(_STRATEGIES[plain.strategy])
    if plain.after_match is not None:
        place = _SKIPS[plain.after_match.to].format(variable_text(plain.after_match.variable or ""))
        sentences.append(f"The next match may start only {place}.")
    if plain.aggregates:
        asked = _all(map(aggregate_text, plain.aggregates))
        groups = _all(map(column_text, plain.group_by))
        sentences.append(f"It asks for {asked}{f' for each {groups}' if groups else ''}.")
        sentences += [f"Only with {expression_text(one)}." for one in plain.having]
    if plain.returned:
        names = _all(column_text(result.name) for result in plain.returned)
        sentences.append(f"A match is written with {names}.")
    return tuple(sentences)


def _said(structure: Structure) -> str:
    """Return what has to be there."""
    match structure:
        case Event():
            return f"{_with_article(_kind(structure))} ({variable_text(structure.variable)})"
        case Seq(items):
            present = [item for item in items if not isinstance(item, Not)]
            first, *others = map(_said, present)
            return ", ".join([first, *(f"then {other}" for other in others)])
        case And(items):
            present = [item for item in items if not isinstance(item, Not)]
            said = [_nested(item) for item in present]
            return f"{_all(said)}{', in any order' if len(said) > 1 else ''}"
        case Or(items):
            return f"either {' or '.join(map(_nested, items))}"
        case Not(item):
            return f"no {_without_article(item)}"
        case First(item):
            return f"the first {_without_article(item)} that fits"
        case Next(item):
            return f"as the very next event {_said(item)}"
        case Opt(item, greedy=greedy):
            return f"{'if there is one' if greedy else 'maybe'} {_nested(item)}"
        case Kleene():
            return _set(structure)
        case _:
            assert_never(structure)


def _nested(item: Structure) -> str:
    return f"({_said(item)})" if isinstance(item, Seq | And | Or) else _said(item)


def _set(node: Kleene) -> str:
    item, run = node.item, ""
    if isinstance(item, First):
        item, run = item.item, ", with none that fits left out"
    elif isinstance(item, Next):
        item, run = item.item, ", side by side"
    count = _count(node.minimum, node.maximum)
    said = (
        f"{count} {_without_article(item)}"
        if isinstance(item, Event)
        else (f"{count} times ({_said(item)}{_following(item)})")
    )
    if node.greedy:
        run = ", as many as there are"
    if node.until is not None:
        run += f", until {_said(node.until)} comes"
    return said + run


def _count(minimum: int, maximum: int | None) -> str:
    if maximum is None:
        return f"{_number(minimum)} or more"
    if minimum == maximum:
        return f"exactly {_number(minimum)}"
    return f"{_number(minimum)} to {_number(maximum)}"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"


def _following(structure: Structure) -> str:
    absent = " ".join(_absences(structure))
    return f". {absent}".rstrip(".") if absent else ""


def _absences(structure: Structure) -> Iterable[str]:
    """Yield a sentence for each absence, outside of groups that repeat."""
    match structure:
        case Seq(items):
            for place, item in enumerate(items):
                if isinstance(item, Not):
                    before = _ends(items[:place][::-1], last=True)
                    after = _ends(items[place + 1 :], last=False)
                    yield f"{_capital(_place(before, after))} {_there_is_no(item)}."
                else:
                    yield from _absences(item)
        case And(items) | Or(items):
            for item in items:
                if isinstance(item, Not):
                    yield f"Beside them {_there_is_no(item)}."
                else:
                    yield from _absences(item)
        case Opt(item) | First(item) | Next(item):
            yield from _absences(item)
        case Not():
            yield f"In the window {_there_is_no(structure)}."
        case Event() | Kleene():
            return
        case _:
            assert_never(structure)


def _there_is_no(node: Not) -> str:
    item = node.item
    if isinstance(item, Seq | And):
        return f"there are not together {_said(item)}"
    if isinstance(item, Next):
        return f"the very next event is no {_without_article(item.item)}"
    return f"there is no {_without_article(item)}"


def _place(before: str, after: str) -> str:
    if before and after:
        return f"between {before} and {after}"
    if before:
        return f"after {before}, within the window,"
    return f"before {after}, within the window,"


def _ends(items: Sequence[Structure], *, last: bool) -> str:
    """Return the variables of the nearest item that is there."""
    near = next((item for item in items if not isinstance(item, Not)), None)
    if near is None:
        return ""
    match near:
        case Seq(parts):
            return _ends(parts[::-1] if last else parts, last=last)
        case And(parts) | Or(parts):
            word = " or " if isinstance(near, Or) else " and "
            return word.join(filter(None, (_ends([part], last=last) for part in parts)))
        case _:
            events = [node for node in walk(near) if isinstance(node, Event)]
            return variable_text(events[0].variable)


def _kind(event: Event) -> str:
    return _either(event.names) if event.names else "event"


def _without_article(structure: Structure) -> str:
    if isinstance(structure, Event):
        return f"{_kind(structure)} ({variable_text(structure.variable)})"
    if isinstance(structure, Kleene):
        return f"of {_set(structure)}"
    return _nested(structure)


def _with_article(name: str) -> str:
    # Capitals are spelled: an MSFT.
    vowels = "AEFHILMNORSX" if name.isupper() else "aeioAEIO"
    return f"{'an' if name[:1] in vowels else 'a'} {name}"


def _either(names: Iterable[str]) -> str:
    return " or ".join(names)


def _all(names: Iterable[str]) -> str:
    *front, last = [*names] or [""]
    return f"{', '.join(front)} and {last}" if front else last


def _within(window: Window) -> str:
    text = window_text(window)
    if isinstance(window, CountWindow):
        size = text.removesuffix(" EXCLUSIVE").split()[0]
        less = "fewer than" if window.exclusive else "at most"
        return f"there are {less} {size} events, these two included"
    if window.exclusive:
        return f"less than {text.removesuffix(' EXCLUSIVE')} pass"
    return f"at most {text} pass"


def _condition(condition: c.Expression) -> str:
    match condition:
        case c.Comparison(operator, left, right) if operator in _COMPARED:
            sides = _value(left), _value(right)
            if None not in sides:
                return f"{sides[0]} {_COMPARED[operator]} {sides[1]}"
        case c.IsNull(operand, negated) if (said := _value(operand)) is not None:
            return f"{said} is {'not ' if negated else ''}missing"
        case c.Between(operand, low, high, False):
            values = [_value(part) for part in (operand, low, high)]
            if None not in values:
                return f"{values[0]} is between {values[1]} and {values[2]}"
    return expression_text(condition)


def _value(value: c.Expression) -> str | None:
    """Return a value in words; None for one that is better read as it is written."""
    match value:
        case c.Attribute(_, c.TIME) | c.Attribute(_, c.NUMBER) | c.Attribute(_, c.NUMBER_BEFORE):
            return None
        case c.Attribute("", name):
            return f"the {column_text(name)}"
        case c.Attribute(variable, name):
            return f"the {name_text(name)} of {variable_text(variable)}"
        case c.Literal():
            return expression_text(value)
        case _:
            return None


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
