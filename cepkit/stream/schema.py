"""The schema of a stream: its time and type columns, and the meaning of times."""

from __future__ import annotations

import re
import zoneinfo
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from cepkit.errors import StreamError, nearest, nearest_column
from cepkit.lazy import pa

UNITS: Mapping[str, int] = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""Microseconds in each unit of numeric times; nanoseconds ("ns") are divided instead."""

Ties: TypeAlias = Literal["none", "arrival"]
"""The order of events of equal time."""

TIES: tuple[Ties, ...] = ("none", "arrival")

ONLY_TYPE = "event"
"""The type of all rows of a stream without a column of types."""

UNIT_NAMES = ("s", "ms", "us", "ns", "min", "h", "d")

_FIXED_OFFSET = re.compile(r"[+-](0\d|1[0-8]):[0-5]\d")
_LISTED = 30


@dataclass(frozen=True, slots=True)
class Schema:
    """The roles of a source's columns, and the meaning of its times.

    Attributes:
        time: The column of the event time.
        type: The column of the event type; its values are read as texts: 1 as "1", true as "true".
            None: all rows are of the type "event".
        unit: The unit of numeric times since 1970-01-01 UTC: "s", "ms", "us", "ns", "min", "h" or
            "d". None if times are not numbers.
        timezone: The zone of times without one: an IANA name ("Europe/Copenhagen") or a fixed
            offset ("+02:00"). None means UTC. Times with a zone and numeric ones are instants, in
            whatever zone; but conditions read the clock there, and results show it.
        columns: The columns of the output besides time and type; None for all.
        arrival: The column with the order of arrival; None: row order.
        ties: The order of events of equal time: "none", or by arrival ("arrival").
        since: The first microsecond of the time range; None: as early as may be.
        until: The first one after it; None: as late as may be.
        column_zone: The zone of the values of the time column; None if they name none.

    Raises:
        StreamError: The unit or the time zone is unknown, one column is both time and type, or
            `ties` is neither.
    """

    time: str
    type: str | None = None
    unit: str | None = None
    timezone: str | None = None
    columns: tuple[str, ...] | None = None
    arrival: str | None = None
    ties: Ties = "none"
    since: int | None = None
    until: int | None = None
    column_zone: str | None = None

    def __post_init__(self) -> None:
        roles: list[tuple[str, object]] = [("time", self.time)]
        roles += [("type", self.type)] if self.type is not None else []
        roles += [("arrival", self.arrival)] if self.arrival is not None else []
        for role, name in roles:
            if not isinstance(name, str):
                raise StreamError(
                    f"the {role} column is given as {name!r}", expected="the name of a column"
                )
        if self.time == self.type:
            raise StreamError(
                f"the column '{self.time}' is named as both the time and the type",
                expected="one column that says when and another that says what",
            )
        if self.unit is not None and self.unit not in UNIT_NAMES:
            raise StreamError(
                f"'{self.unit}' is not a unit of time",
                expected=f"one of {', '.join(UNIT_NAMES)}, filetime",
                hint=nearest(str(self.unit), [*UNIT_NAMES, "filetime"]),
            )
        if self.timezone is not None:
            check_zone(self.timezone)
        if self.ties not in TIES:
            raise StreamError(
                f"ties={self.ties!r}",
                expected='"none": events of equal time have no order, or "arrival": that in which'
                " they came",
                hint=nearest(str(self.ties), TIES),
            )

    @property
    def roles(self) -> tuple[str, ...]:
        """The columns with a role: time, and type and arrival where there are such."""
        roles = (self.time, self.type, self.arrival)
        return tuple(name for name in roles if name is not None)

    @property
    def typed_by(self) -> str:
        """The column that says of which type a row is: that of the time if all have one type."""
        return self.time if self.type is None else self.type

    @property
    def clock(self) -> str | None:
        """The zone whose clock conditions read; None is UTC."""
        return self.timezone or self.column_zone

    @property
    def microseconds(self) -> float | None:
        """The microseconds of a unit of times that are numbers; None for other times."""
        return 1 / 1000 if self.unit == "ns" else UNITS.get(self.unit or "")

    @property
    def by_arrival(self) -> bool:
        """Whether events of equal time are ordered by arrival."""
        return self.ties == "arrival"

    @property
    def has_range(self) -> bool:
        """Whether the stream is a time range of its source."""
        return self.since is not None or self.until is not None

    def without_arrival(self) -> Schema:
        """Return the schema without the order of arrival."""
        return replace(self, arrival=None)

    def without_output(self) -> Schema:
        """Return the schema without output columns, for rows that are only counted and measured."""
        return replace(self, arrival=None, columns=())

    def carried(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns that go to the output, in the source's order."""
        columns = tuple(names)
        if self.columns is None:
            return columns
        required = {self.time, self.type, *self.columns}
        return tuple(name for name in columns if name in required)

    def needed(self, names: Iterable[str], attributes: Iterable[str]) -> tuple[str, ...]:
        """Return the columns to load: those for the output and those that conditions read."""
        columns = tuple(names)
        required = {*self.carried(columns), *attributes, self.arrival}
        return tuple(name for name in columns if name in required)

    def check(self, names: Iterable[str], attributes: Iterable[str] = ()) -> None:
        """Check that a source has the required columns, each once.

        Raises:
            StreamError: One is missing or occurs twice.
        """
        check_columns((*self.roles, *(self.columns or ()), *attributes), tuple(names))


def check_columns(required: Iterable[str], columns: tuple[str, ...]) -> None:
    """Check that a source has the required columns, each once.

    Raises:
        StreamError: One is missing or occurs twice.
    """
    present = set(columns)
    for name in required:
        if name not in present:
            raise StreamError(
                f"the stream has no column '{name}'",
                expected=f"one of {_listed(columns)}" if columns else "a source with columns",
                hint=separator_hint(columns) or nearest_column(str(name), columns),
            )
    if len(present) < len(columns):
        twice = next(name for name, count in Counter(columns).items() if count > 1)
        raise StreamError(
            f"the stream has more than one column '{twice}'",
            expected="a name of its own for each column",
            hint="rename or drop one of them",
        )


def separator_hint(columns: tuple[str, ...]) -> str | None:
    """Return a hint if a CSV file seems to be read by the wrong separator."""
    if columns and columns[0].startswith("sep="):
        return f"the first line, '{columns[0]}', is Excel's: remove it"
    sep = next((sep for sep in ";\t|" if len(columns) == 1 and sep in columns[0]), None)
    return f"the file seems to be separated by {sep!r}: sep={sep!r}" if sep else None


def time_zone(kind: pa.DataType, schema: Schema) -> str | None:
    """Return the zone for displaying times of a source: the stream's, its own, none, or UTC."""
    if schema.timezone is not None:
        return schema.timezone
    if pa.types.is_timestamp(kind):
        zone: str | None = kind.tz
        return zone
    return None if pa.types.is_date(kind) else "UTC"


def _listed(names: tuple[str, ...]) -> str:
    more = f", and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _suggested(zone: str, name: str) -> bool:
    """Return whether a zone may be suggested for an unknown name: a place, or the same letters."""
    return ("/" in zone and not zone.startswith("Etc/")) or zone.casefold() == name.casefold()


def check_zone(name: str) -> None:
    """Check the name of a time zone.

    Raises:
        StreamError: There is no such zone.
    """
    try:
        if not _FIXED_OFFSET.fullmatch(name):
            zoneinfo.ZoneInfo(name)
    # A name like "../x" raises a ValueError, a folder of the database an OSError.
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        # EST is no answer to CEST, and Etc/GMT+2 is the zone -02:00.
        zones = {zone for zone in zoneinfo.available_timezones() if _suggested(zone, str(name))}
        raise StreamError(
            f"'{name}' is not a known time zone",
            expected="an IANA name such as Europe/Copenhagen, or an offset such as +02:00",
            hint=nearest(str(name), zones) if zones else None,
        ) from None
