"""The counters of all live STARTs, and the changes that a step can make.

A row belongs to a START and has a number, which changes refer to. Replaying the changes of a trace
gives its counters after each step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias, assert_never

from cepkit.stream.shapes import ShapeError, Time, Within, check_below

Count: TypeAlias = Annotated[int, Within(0, 10**1000)]
"""Counts are exact; for 2,000 events they have at most some 600 digits."""


@dataclass(frozen=True, slots=True)
class Open:
    """A new row with counts 0; no event if one row serves all STARTs."""

    row: int
    key: int
    piece: int
    event: int | None
    expires: Time | None


@dataclass(frozen=True, slots=True)
class Save:
    """The snapshot of a row records the number of matches that began with the row `whole`."""

    row: int
    whole: int
    count: Count


@dataclass(frozen=True, slots=True)
class Add:
    """The count at a place of the piece grew."""

    row: int
    place: int
    before: Count
    added: Count


@dataclass(frozen=True, slots=True)
class Clear:
    """A count was reset to 0 by an event that must be absent."""

    row: int
    place: int
    before: Count


@dataclass(frozen=True, slots=True)
class Drop:
    """The snapshot of a row lost the matches that began with the expired row `whole`."""

    row: int
    whole: int


@dataclass(frozen=True, slots=True)
class Close:
    """The START of a row expired."""

    row: int


Change: TypeAlias = Open | Save | Add | Clear | Drop | Close


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A row of a snapshot.

    Attributes:
        start: The START of the whole; "" without a window, where one row serves all.
        expires: When it expires, in microseconds; None for never.
        count: How many matches of the pieces before began there.
    """

    start: str
    expires: int | None
    count: int


@dataclass(frozen=True, slots=True)
class StartCounters:
    """The counters of a START after a step.

    Attributes:
        key: The number of the key whose events these are.
        piece: The number of the piece, from 0.
        start: The START; "" without a window, where one row serves all.
        expires: When it expires, in microseconds; None for never.
        counts: The number of matches of each prefix of the piece.
        snapshot: The counts of earlier pieces, if the piece is not the first.
    """

    key: int
    piece: int
    start: str
    expires: int | None
    counts: tuple[int, ...]
    snapshot: tuple[SnapshotRow, ...]

    @property
    def name(self) -> tuple[int, int, str]:
        """Key, piece and START, unique in a trace."""
        return self.key, self.piece, self.start

    def whole(self) -> tuple[SnapshotRow, ...]:
        """Return the number of matches up to this piece, by their START."""
        last = self.counts[-1]
        if self.piece == 0:
            return (SnapshotRow(self.start, self.expires, last),)
        return tuple(SnapshotRow(row.start, row.expires, row.count * last) for row in self.snapshot)


@dataclass(slots=True)
class Row:
    """The changing counters of a START.

    Attributes:
        snapshot: By the number of the START of the whole.
    """

    number: int
    key: int
    piece: int
    start: str
    expires: int | None
    counts: list[int]
    snapshot: dict[int, SnapshotRow] = field(default_factory=dict)
    _kept: StartCounters | None = None
    _saved: tuple[SnapshotRow, ...] | None = None

    @property
    def matches(self) -> int:
        """The number of matches up to this piece."""
        last = self.counts[-1]
        return last if self.piece == 0 else sum(one.count for one in self.snapshot.values()) * last

    def frozen(self) -> StartCounters:
        """Return a snapshot of the counters: the same object until they change."""
        if self._kept is None:
            if self._saved is None:  # shared by all steps: its length is the number of STARTs
                self._saved = tuple(self.snapshot.values())
            self._kept = StartCounters(
                self.key, self.piece, self.start, self.expires, tuple(self.counts), self._saved
            )
        return self._kept

    def set(self, place: int, count: int) -> None:
        """Change a counter."""
        check_below(place, len(self.counts), "counts", "")
        self.counts[place] = count
        self._kept = None

    def save(self, whole: int, saved: SnapshotRow) -> None:
        """Add to the snapshot."""
        self.snapshot[whole] = saved
        self._kept = self._saved = None

    def drop(self, whole: int) -> None:
        """Take out of the snapshot."""
        self.snapshot.pop(whole, None)
        self._kept = self._saved = None


class Rows:
    """The rows of all live STARTs, in order of arrival.

    Args:
        sizes: How many variables each piece has.
        names: The names of the events.
    """

    def __init__(self, sizes: Sequence[int], names: Sequence[str]) -> None:
        self._live: dict[int, Row] = {}
        self._opened: dict[int, Row] = {}
        self._sizes = sizes
        self._names = names

    @property
    def live(self) -> Iterable[Row]:
        """The live rows."""
        return self._live.values()

    @property
    def opened(self) -> int:
        """The number of rows opened so far."""
        return len(self._opened)

    def row(self, number: int) -> Row:
        """Return a live row.

        Raises:
            ShapeError: No live row has that number.
        """
        return _known(self._live, number)

    def of(self, key: int, piece: int) -> list[Row]:
        """Return the live rows of a piece."""
        return [row for row in self.live if row.key == key and row.piece == piece]

    def frozen(self) -> tuple[StartCounters, ...]:
        """Return a snapshot of all counters."""
        return tuple(row.frozen() for row in self.live)

    def apply(self, change: Change) -> None:
        """Apply a change.

        Raises:
            ShapeError: It refers to a row or a count that does not exist.
        """
        match change:
            case Open(number, key, piece, event, expires):
                start = "" if event is None else self._names[event]
                row = Row(number, key, piece, start, expires, [0] * self._sizes[piece])
                self._live[number] = self._opened[number] = row
            case Save(number, whole, count):
                began = _known(self._opened, whole)
                self.row(number).save(whole, SnapshotRow(began.start, began.expires, count))
            case Drop(number, whole):
                _known(self._opened, whole)
                self.row(number).drop(whole)
            case Add(number, place, before, added):
                self.row(number).set(place, before + added)
            case Clear(number, place):
                self.row(number).set(place, 0)
            case Close(number):
                self.row(number)
                del self._live[number]
            case _:
                assert_never(change)


def _known(rows: Mapping[int, Row], number: int) -> Row:
    if number not in rows:
        raise ShapeError(f"about a row {number} that is not there", "one opened before")
    return rows[number]
