"""The register of figures: the values each one draws, its name, its options, a line of help.

`draw`, its errors and the tests of all figures use it. To add a figure, add a file to `charts/` and
its entry to `FIGURES` (`cepkit/figures/__init__.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cepkit.arguments import typed
from cepkit.errors import CepkitError
from cepkit.tables import text_table

_VERBS = (
    ("events", "types over time, gaps and keys"),
    ("profile", "statistics: rates, selectivities, keys"),
    ("parse", "an automaton"),
    ("choose_plan, compare_plans", "plans and their costs, by the weight of latency as well"),
    ("what_if", "costs as a rate changes"),
    ("detect, explain()", "matches in time; the work of each step"),
    ("aggregate", "aggregates over time"),
    ("why_not", "why events do not match"),
    ("simulate", "a player, step by step"),
    ("choose_plan of several, or several patterns", "what patterns have in common"),
)
"""What most verbs return is drawn as."""

Takes: TypeAlias = Literal["one", "several", "any number"]
"""Whether a figure draws one value, a list of values, or either."""

Options: TypeAlias = Mapping[str, inspect.Parameter]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that can be drawn.

    Attributes:
        name: Its name in `of=`, unique among the figures of the same values.
        kind: The types of the values that it draws, or a function that recognises them.
        draw: Returns it, or a player; the parameters after the first are its options.
        help: Its contents, in a line.
        takes: How many values it draws.
    """

    name: str
    kind: type | tuple[type, ...] | Callable[[object], bool]
    draw: Callable[..., Any]
    help: str
    takes: Takes = "one"

    def fits(self, value: object) -> bool:
        """Return whether this figure can draw a value or a list of values."""
        if isinstance(value, list | tuple):
            several = self.takes != "one" and len(value) > 0
            return several and all(map(self._fits, value))
        return self.takes != "several" and self._fits(value)

    def of(self, value: object, options: Mapping[str, Any]) -> Any:
        """Return the figure of a value that fits.

        Raises:
            ArgumentError: An option has a value of another kind.
        """
        alone = self.takes == "any number" and not isinstance(value, list | tuple)
        return typed(self.draw)([value] if alone else value, **options)

    @property
    def options(self) -> Options:
        """The options that it has, by name."""
        _, *options = inspect.signature(self.draw).parameters.values()
        return {option.name: option for option in options}

    def _fits(self, value: object) -> bool:
        if isinstance(self.kind, type | tuple):
            return isinstance(value, self.kind)
        return self.kind(value)


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures; the first one that fits a value is its default."""

    entries: tuple[Figure, ...]

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.entries)

    @property
    def help(self) -> Mapping[str, str]:
        """A line of help for the figures of each name."""
        lines: dict[str, list[str]] = {}
        for entry in self.entries:
            lines.setdefault(entry.name, []).append(entry.help)
        return {name: "; ".join(dict.fromkeys(several)) for name, several in lines.items()}

    def find(self, value: object, name: str | None = None) -> Figure:
        """Return the figure with this name for a value; the first that fits if the name is None.

        Raises:
            CepkitError: There is no such figure.
        """
        fitting = [entry for entry in self.entries if entry.fits(value)]
        if not fitting:
            table = text_table(("verb", "figure"), _VERBS, left=2)
            raise CepkitError(
                f"there is no figure of {_kind_of(value)}",
                expected=f"what one of these returns\n{table}",
                hint="parse(text) makes a pattern of a text" if isinstance(value, str) else None,
            )
        for entry in fitting:
            if name is None or entry.name == name:
                return entry
        raise CepkitError.unknown(
            f"there is no figure '{name}' of {_kind_of(value)}",
            name,
            [entry.name for entry in fitting],
            option="of= ",
        )

    def draw(self, value: object, name: str | None, options: Mapping[str, Any]) -> Any:
        """Return the figure of a value.

        Args:
            value: The value to draw, or a list of such values.
            name: Which of its figures; None for the first.

        Raises:
            CepkitError: There is no such figure, or it has no such option.
        """
        entry = self.find(value, name)
        for option in options:
            if option not in entry.options:
                raise CepkitError.unknown(
                    f"the figure '{entry.name}' has no option '{option}='",
                    option,
                    entry.options,
                    option="an option, ",
                )
        return entry.of(value, options)


def _kind_of(value: object) -> str:
    """Return the type of a value, or the types in a list, for a sentence."""
    if not isinstance(value, list | tuple):
        return f"the type {type(value).__name__}"
    kinds: Sequence[str] = sorted({type(one).__name__ for one in value})
    return f"a list of {' and '.join(kinds)}" if kinds else "an empty list"
