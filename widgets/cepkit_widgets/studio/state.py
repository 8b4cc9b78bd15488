"""The state of a studio: what its page is about, and how what the user does changes it."""

from __future__ import annotations

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType

from cepkit.errors import ArgumentError
from cepkit.pattern.nodes import bound_events_of, events_of
from cepkit.pattern.query import Query

DOING = {
    "matches": "looking for matches",
    "plan": "measuring the stream",
    "steps": "running event by event",
    "why not": "looking for reasons",
    "curve": "counting for many values",
    "learn": "reading the types",
    "hand over": "writing it for other systems",
}
"""What is being done for each tab, in words."""
TABS = tuple(DOING)
"""The tabs, in the order of the page."""
SCHEMA = "cepkit.studio/1"
_FRAGMENT = "#cepkit="
_LARGEST = 400_000
"""The most bytes of a saved state: more than a pattern may have."""
_NOTHING: Mapping[str, float | str] = MappingProxyType({})
_UNMOVED: Mapping[str, float] = MappingProxyType({})
MOST_ASKED = 5
"""The most events that "why not" is about: those of a near miss."""
_PLAYED = 300
"""How many events the player takes around a match."""
_BEFORE = 60
"""How many of them are before it."""
_MOST_PLAYED = 2_000


@dataclass(frozen=True, slots=True)
class StudioState:
    """What a studio shows: a pattern and settings, never data.

    Attributes:
        pattern: The text in the editor, valid or not.
        tab: The open tab.
        events: How many events the sample has.
        match: The events of the chosen match: their places in the stream, ascending.
        asked: The events that "why not" is about, at most five; none: why nothing matches.
        planner: Whose plan runs; empty for the cheapest.
        values: The values of the pattern's parameters.
        filter: The condition on the matches that the browser shows.
        moved: The sliders of the plan explorer that were moved, by the names of their numbers.
    """

    pattern: str
    tab: str = TABS[0]
    events: int = 5_000
    match: tuple[int, ...] = ()
    asked: tuple[int, ...] = ()
    planner: str = ""
    values: Mapping[str, float | str] = field(default_factory=lambda: _NOTHING)
    filter: str = ""
    moved: Mapping[str, float] = field(default_factory=lambda: _UNMOVED)

    def at(self, tab: str) -> StudioState:
        """Return the state with another tab open.

        Raises:
            ArgumentError: There is no such tab.
        """
        if tab not in TABS:
            raise ArgumentError.unknown(f"there is no tab '{tab}'", tab, TABS)
        return replace(self, tab=tab)

    def asking(self, event: int) -> StudioState:
        """Return the state with "why not" about one more event, or one less.

        A third event takes the place of the older one.
        """
        if event in self.asked:
            return replace(self, asked=tuple(e for e in self.asked if e != event))
        return replace(self, asked=(*self.asked, event)[-2:], tab="why not")

    def written(self, pattern: str) -> StudioState:
        """Return the state with another text; what is chosen stays."""
        return replace(self, pattern=pattern)

    def to_json(self) -> str:
        """Return the state as JSON."""
        plain = replace(self, values=dict(self.values), moved=dict(self.moved))
        return json.dumps({"schema": SCHEMA, **asdict(plain)})

    @property
    def fragment(self) -> str:
        """The state as the fragment of a URL."""
        packed = urlsafe_b64encode(zlib.compress(self.to_json().encode(), 9))
        return _FRAGMENT + packed.decode().rstrip("=")

    @classmethod
    def from_json(cls, text: str) -> StudioState:
        """Return the state of a JSON text.

        Raises:
            ArgumentError: It is none.
        """
        try:
            saved = json.loads(text)
            known = {each.name for each in fields(cls)}
            state = cls(**{name: saved[name] for name in known & {*saved}})
            numbers = [state.events, *state.match, *state.asked]
            texts = [state.pattern, state.planner, state.filter, *state.values, *state.moved]
            sound = (
                saved["schema"] == SCHEMA
                and all(type(n) is int and n >= 0 for n in numbers)
                and state.events > 0
                and all(isinstance(text, str) for text in texts)
                and all(isinstance(value, int | float | str) for value in state.values.values())
                and all(isinstance(value, int | float) for value in state.moved.values())
            )
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            sound = False
        if not sound:
            raise ArgumentError("this is no saved studio", expected=f"what `save` writes, {SCHEMA}")
        state = replace(state, match=tuple(state.match), asked=tuple(state.asked[-MOST_ASKED:]))
        return state.at(state.tab)

    @classmethod
    def of(cls, source: str, events: int) -> StudioState:
        """Return the state of a pattern, of a URL fragment, or of the path of a saved state."""
        _, sign, packed = source.partition(_FRAGMENT)
        if sign:
            try:
                raw = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
                text = zlib.decompressobj().decompress(raw, _LARGEST).decode()
            except (ValueError, zlib.error) as error:
                raise ArgumentError("this is no link to a studio") from error
            return cls.from_json(text)
        if source.endswith(".json") and "\n" not in source:
            try:
                return cls.from_json(Path(source).read_text(encoding="utf-8"))
            except OSError as error:
                raise ArgumentError(f"'{source}' cannot be read: {error.strerror}") from error
        return cls(source, events=events)


def named(query: Query, types: Sequence[str]) -> tuple[str, ...]:
    """Return for a few events the variables that they stand for; none if there are none for all.

    Args:
        query: The pattern.
        types: The types of the events, in the order of time.
    """
    bound = {event.variable for event in bound_events_of(query.written)}
    # Events of a match come first, those under NOT last.
    events = sorted(events_of(query.written), key=lambda event: event.variable not in bound)
    fitting = [[e.variable for e in events if e.may_have(kind)] for kind in types]
    order = {event.variable: place for place, event in enumerate(events)}
    choices = [one for one in product(*fitting) if len({*one}) == len(one)]
    return min(choices, key=lambda one: [*one] != sorted(one, key=order.__getitem__), default=())


def part_of(match: tuple[int, ...], size: int, before: tuple[int, int] | None) -> tuple[int, int]:
    """Return the events that the player takes: the same as before, while these have the match.

    Args:
        match: The events of the chosen match, ascending.
        size: How many events there are.
        before: The first one that it took, and the one after the last.
    """
    if before is not None and (not match or before[0] <= match[0] <= match[-1] < before[1]):
        return before[0], min(size, before[1])
    begin = 0 if not match or match[-1] < _PLAYED else max(0, match[0] - _BEFORE)
    end = max(begin + _PLAYED, match[-1] + _BEFORE if match else 0)
    return begin, min(size, end, begin + _MOST_PLAYED)
