"""Saved traces and statistics with a hostile text in any place are refused, or show it as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.errors import CepkitError
from cepkit.figures.player import Player
from cepkit.statistics.model import Statistics
from cepkit.tracing import CounterTrace, MechanismTrace
from tests.unit.figures import hostile
from tests.unit.figures.hostile import EVIL, NAMES, SIMPLE, TRACES
from tests.unit.figures.test_hostile_texts import (
    ATTRIBUTES,
    TAGS,
    check_output,
    check_player,
    complaint,
    strings_in,
)


def leaves(part: Any, *place: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all values, of those in equal places the first two of a kind."""
    match part:
        case dict():
            for name, value in part.items():
                yield from leaves(value, *place, name)
        case list():
            kinds: list[type] = []
            for i, value in enumerate(part):
                kinds.append(type(value))
                if kinds.count(type(value)) <= 2:
                    yield from leaves(value, *place, i)
        case _:
            yield place


def with_text_at(text: str, place: tuple[Any, ...]) -> str:
    """Return JSON with the hostile text in one place."""
    whole = json.loads(text)
    *way, last = place
    part = whole
    for step in way:
        part = part[step]
    part[last] = EVIL
    return json.dumps(whole)


def saved() -> Iterator[Any]:
    events = hostile.stream(12)
    for mechanism in MECHANISMS:
        text = ck.simulate(events, SIMPLE, mechanism).to_json()
        yield pytest.param(MechanismTrace, text, TRACES, id=mechanism)
    pieces = [[NAMES[0]], NAMES[1:3]]
    text = ck.simulate(events, SIMPLE, "prefix-counters", plan=pieces).to_json()
    yield pytest.param(CounterTrace, text, TRACES, id="counters")
    text = hostile.statistics().to_json()
    yield pytest.param(Statistics, text, ("overview", "time", "keys"), id="statistics")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "text", "figures"), list(saved()))
def test_hostile_text_in_a_file_is_refused_or_shown_as_text(kind, text, figures):
    refused = 0
    for place in leaves(json.loads(text)):
        try:
            read = kind.from_json(with_text_at(text, place))
        except CepkitError:
            refused += 1
            continue
        check_output(read._repr_html_())
        for figure in figures:
            try:
                made = ck.draw(read, of=figure)
            except CepkitError:
                continue  # a pattern that cannot be parsed has no player
            if isinstance(made, Player):
                check_player(made.to_html(), TAGS, ATTRIBUTES)
            else:
                assert not [t for t in strings_in(json.loads(made.to_json())) if complaint(t)]
    assert refused > 20


def test_wrong_type_in_a_file_is_refused_with_its_place():
    whole = json.loads(hostile.trace().to_json())
    whole["counters"]["stored"][2] = "3"
    with pytest.raises(CepkitError) as error:
        MechanismTrace.from_json(json.dumps(whole))
    assert str(error.value) == (
        "this is not a trace: counters.stored[2] is '3'\nExpected: a whole number"
    )
