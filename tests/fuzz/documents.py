"""JSON for the three loaders: documents that were saved, then damaged.

A document that loads all the same must be complete: it can be shown, drawn and saved again.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from random import Random
from typing import Any

import cepkit as ck
from cepkit.errors import CepkitError
from cepkit.statistics.model import Statistics
from cepkit.tracing import CounterTrace, MechanismTrace
from tests.fuzz.case import Case, look_at, streams

_PATTERN = "PATTERN SEQ(A a, B b, C c) WHERE a.x <= b.x AND a.k = c.k WITHIN 9 us"
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 99, 2**31, 2**62, 2**63, -(2**63), 10**30, 0.5, -0.5, 1e308,
    "", "a", "b", "A 0", "0", "\ud800", "\0", "create", "chain", [], [0], ["a"], [[]], [None], {},
    {"a": 1}, {"a": [0]}, [["create", 0, [], 0, None, None]],
)  # fmt: skip
_TEXTS = (
    "NaN", "Infinity", "-Infinity", "1e999", "1" * 5000, "[" * 5000, '{"a":' * 5000, "\\ud800",
    "\\u0000", "'", "//", "\ufeff",
)  # fmt: skip


@cache
def _saved() -> tuple[tuple[type[Any], str], ...]:
    stream = streams()[0]
    found: list[tuple[type[Any], str]] = [
        (Statistics, ck.profile(stream, _PATTERN).to_json()),
        (Statistics, ck.profile(stream, "PATTERN SEQ(A a, KL(B b)) PARTITION BY k").to_json()),
    ]
    for mechanism in ("eager-nfa", "chain-nfa", "tree-nfa", "evaluation-tree"):
        for pattern in (_PATTERN, "PATTERN SEQ(A a, NOT(C n), KL(B b)) WITHIN 3 us PARTITION BY k"):
            found.append((MechanismTrace, ck.simulate(stream, pattern, mechanism).to_json()))
    for pieces in (None, [["a"], ["b", "c"]]):
        sequence = "PATTERN SEQ(A a, NOT(B n), B b, C c) WITHIN 9 us PARTITION BY k"
        found.append(
            (CounterTrace, ck.simulate(stream, sequence, "prefix-counters", plan=pieces).to_json())
        )
        sequence = "PATTERN SEQ(A a, B b, C c)"
        found.append(
            (CounterTrace, ck.simulate(stream, sequence, "prefix-counters", plan=pieces).to_json())
        )
    return tuple(found)


def case(random: Random) -> Case:
    """Return a case: a damaged document is loaded, and if it is whole, looked at."""
    kind, saved = random.choice(_saved())
    if random.random() < 0.8:
        data = json.loads(saved)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            _damage(random, data)
        text = json.dumps(data)
    else:
        text = saved
    if random.random() < 0.25:
        text = _spoilt(random, text)
    return Case(f"{kind.__name__}.from_json({text!r})", lambda: _try(kind, text))


def _damage(random: Random, data: Any) -> None:
    """Change a value somewhere inside of a document."""
    part = data
    while True:
        places = list(part) if isinstance(part, dict) else list(range(len(part)))
        if not places:
            return
        place = random.choice(places)
        inner = part[place]
        if not isinstance(inner, dict | list) or not inner or random.random() < 0.15:
            break
        part = inner
    match random.randrange(6):
        case 0:
            del part[place]
        case 1:
            part[place] = copy.deepcopy(random.choice(_VALUES))
        case 2 if isinstance(inner, bool | int | float):
            part[place] = inner + random.choice((-1, 1, 1000, 0.5))
        case 3 if isinstance(part, list):
            part.insert(place, copy.deepcopy(inner))
        case 4 if isinstance(part, list):
            random.shuffle(part)
        case 5 if isinstance(part, dict):
            part[place] = copy.deepcopy(part[random.choice(places)])
        case _:
            part[place] = copy.deepcopy(random.choice(_VALUES))


def _spoilt(random: Random, text: str) -> str:
    place = random.randrange(len(text))
    match random.randrange(3):
        case 0:
            return text[:place]
        case 1:
            return text[:place] + random.choice(_TEXTS) + text[place:]
        case _:
            return text[:place] + text[place + random.randint(1, 20) :]


def _try(kind: type[Any], text: str) -> None:
    loaded = kind.from_json(text)
    again = kind.from_json(loaded.to_json())
    # Steps of counters that contradict their moments can be drawn, but are not kept as they were.
    assert kind is CounterTrace or again == loaded
    look_at(loaded)
    match loaded:
        case Statistics():
            _try_statistics(loaded)
        case MechanismTrace():
            _try_trace(loaded)
        case CounterTrace():
            loaded.to_pandas()
            str(loaded.output)
    look_at(ck.draw(loaded))
    if kind is not Statistics:
        ck.draw(loaded).to_html()
        ck.draw(loaded, of="diagram")
        ck.draw(loaded, of="counters")


def _try_statistics(loaded: Statistics) -> None:
    for planner in ("greedy", "dp-order", "dp-tree"):
        try:
            look_at(ck.choose_plan(_PATTERN, loaded, planner, cost="work"))
        except CepkitError as error:
            str(error)
    for of in ("time", "keys"):
        try:
            ck.draw(loaded, of=of)
        except CepkitError as error:
            str(error)


def _try_trace(loaded: MechanismTrace) -> None:
    look_at(loaded[:])
    loaded.matches_frame()
    loaded.counters_frame()
    loaded.find()
    for instance in loaded.births:
        look_at(loaded.fate(instance))
    look_at(loaded.compare(loaded))
