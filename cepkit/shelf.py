"""A shelf: alternatives of one kind by name, each with a line of help.

Error messages, the command's help and the tables in docs/ come from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar

from cepkit.errors import PlanError


class Named(Protocol):
    """An alternative on a shelf: it has a name."""

    @property
    def name(self) -> str:
        """The name for users and tables."""
        ...


Item = TypeVar("Item", bound=Named)


class Shelf(Mapping[str, Item]):
    """The alternatives of one kind by name, in the order of the entries.

    Args:
        kind: The kind of alternatives, as ``"planner"``.
        *entries: Each alternative with its line of help.
        method: A method that each of them has besides its name, as ``"plan"``.
        beside: Other accepted values, as ``", or a number"``.
    """

    def __init__(
        self, kind: str, *entries: tuple[Item, str], method: str, beside: str = ""
    ) -> None:
        self.kind = kind
        self.help: Mapping[str, str] = {item.name: line for item, line in entries}
        self._items = {item.name: item for item, _ in entries}
        self._method = method
        self._beside = beside

    def __getitem__(self, name: str) -> Item:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def pick(self, item: str | Item) -> Item:
        """Return the alternative of a name; an alternative itself is returned unchanged.

        Raises:
            PlanError: No alternative has that name, or the value is not of this kind.
        """
        if not isinstance(item, str):
            if not (hasattr(item, "name") and callable(getattr(item, self._method, None))):
                raise PlanError(
                    f"a {self.kind} of the type {type(item).__name__}",
                    expected=f"its name, or an object with a `name` and a method "
                    f"`{self._method}`{self._beside}",
                )
            return item
        if item not in self._items:
            raise PlanError.unknown(
                f"there is no {self.kind} '{item}'", item, self, beside=self._beside
            )
        return self._items[item]
