"""Which data of events a player contains: pages are passed on, and may omit or redact some."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepkit.errors import TraceError


@dataclass(frozen=True, slots=True)
class CarriedData:
    """Which attributes of events a document shows, and which it redacts.

    Attributes:
        attributes: The attributes to show; None for all.
        redact: The attributes whose values are replaced by numbers, "#1" for the first one.
    """

    attributes: Sequence[str] | None = None
    redact: Sequence[str] = ()

    def check(self, known: Iterable[str], keys: Sequence[str] = ()) -> None:
        """Check that the events have such attributes.

        Args:
            known: The names of the events' attributes.
            keys: Keys of counters, as "customer 17": the attributes in them are known as well.

        Raises:
            TraceError: The events lack one of them.
        """
        names = list(known)
        for name in (*(self.attributes or ()), *self.redact):
            if name not in names and not any(f"{name} " in key for key in keys):
                raise TraceError.unknown(
                    f"the events of the trace have no attribute '{name}'", name, names
                )

    def of_events(self, events: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of events that the document contains."""
        columns = {
            name: _numbered(column) if name in self.redact else column
            for name, column in events["attributes"].items()
            if self.attributes is None or name in self.attributes
        }
        return {**events, "attributes": columns}

    def of_trace(
        self, played: dict[str, Any], known: Collection[str], clauses: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return a trace's own part, with its keys and evaluated conditions without values.

        Args:
            known: The attributes that events have.
            clauses: The clauses of the pattern, which number the evaluated conditions.
        """
        if not self.redact and self.attributes is None:
            return played
        kept = known if self.attributes is None else self.attributes
        hidden = [name for name in known if name not in kept or name in self.redact]
        plain = {
            number: clause["text"]
            for number, clause in enumerate(clauses)
            if any(name.replace('"', '""') in clause["text"] for name in hidden)
        }
        steps = [[_without_values(one, plain) for one in step] for step in played["steps"]]
        keys = [f"key {i + 1}" if key else key for i, key in enumerate(played.get("keys", ()))]
        return {**played, "steps": steps, **({"keys": keys} if keys else {})}


def _without_values(operation: Any, plain: Mapping[int, str]) -> Any:
    """Return an operation; some of its evaluated conditions as in the pattern, without values."""
    if not isinstance(operation, list):
        return operation
    return [
        [_checked(one, plain) for one in part] if isinstance(part, list) else part
        for part in operation
    ]


def _checked(one: Any, plain: Mapping[int, str]) -> Any:
    match one:
        case [int(clause), str(text), held]:
            return [clause, plain.get(clause, text), held]
        case _:
            return one


def _numbered(column: Sequence[Any]) -> list[str | None]:
    """Replace values by numbers: equal values get equal texts, missing ones stay missing."""
    numbers: dict[Any, int] = {}
    return [
        None if value is None else f"#{numbers.setdefault(value, len(numbers) + 1)}"
        for value in column
    ]
