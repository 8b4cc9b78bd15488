"""The errors of cepkit: each says what was found and what was expected, and gives a hint."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from reprlib import Repr
from typing import Self

_LONGEST_NAME, _MOST_NAMES, _FIELDS = 100, 5_000, 3
_MOST_SHOWN = 100
"""The most names in a message: there may be thousands of patterns and columns."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return a sentence that names the known name nearest to `name`, or None.

    Args:
        name: The name that the user wrote.
        known: The valid names.

    Returns:
        ``"did you mean 'price'?"``, or None where nothing is near.
    """
    # Comparing takes quadratic time in the length, and a folder may hold a million names.
    few = (candidate for candidate in islice(known, _MOST_NAMES) if len(candidate) <= _LONGEST_NAME)
    by_folded = {candidate.casefold(): candidate for candidate in few}
    if len(name) > _LONGEST_NAME:
        return None
    folded = name.casefold()
    close = difflib.get_close_matches(folded, by_folded, n=1, cutoff=0.6)
    if not close and len(folded) > 2:  # too many names begin with fewer letters
        close = [each for each in by_folded if each.startswith(folded)]
    return f"did you mean '{by_folded[close[0]]}'?" if close else None


def nearest_column(name: str, columns: Iterable[str]) -> str | None:
    """Return a sentence that names the column nearest to `name`, or the fields that it has."""
    known = tuple(columns)
    fields = [column for column in known if column.startswith(f"{name}.")]
    if not fields:
        inner = [column for column in known if column.endswith(f".{name}")]
        return f"did you mean '{inner[0]}'?" if len(inner) == 1 else nearest(name, known)
    more = " and others" if len(fields) > _FIELDS else ""
    listed = ", ".join(f"'{field}'" for field in fields[:_FIELDS])
    return f"'{name}' is a struct: its fields are columns, {listed}{more}"


_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def shown(value: object) -> str:
    """Return any value as a short text for a message."""
    try:
        return _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - as of integers of thousands of digits; the message matters
        return f"a very large {type(value).__name__}"


_LONGEST_WORD, _LONGEST_TEXT = 300, 8_000
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def _cut(text: str) -> str:
    """Return a part of a message, its long words and itself cut in the middle.

    A name or a value that it quotes may have any length.
    """
    if len(text) <= _LONGEST_WORD:
        return text
    return _without_middle(
        _LONG_WORD.sub(lambda word: _without_middle(word[0], _LONGEST_WORD), text), _LONGEST_TEXT
    )


def _without_middle(text: str, most: int) -> str:
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


_LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a pattern's text: the characters from `start` up to, not including, `end`."""

    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line of the first character, counted from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column of the first character, counted from 1."""
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def underlined(self) -> str:
        """Return the line of the place with carets below it, ready to print."""
        begin = self.text.rfind("\n", 0, self.start) + 1
        stop = self.text.find("\n", self.start)
        stop = stop if stop >= 0 else len(self.text)
        # Show only the part of a very long line near the place.
        if stop - begin > _LONGEST_LINE:
            begin = max(begin, min(self.start - _LONGEST_LINE // 2, stop - _LONGEST_LINE))
            stop = min(stop, begin + _LONGEST_LINE)
        line = self.text[begin:stop]
        width = max(1, min(self.end, stop) - self.start)
        # Tabs stay tabs in the margin, so that the carets stay aligned.
        margin = "".join("\t" if c == "\t" else " " for c in line[: self.start - begin])
        return f"  {line}\n  {margin}{'^' * width}"


class CepkitError(Exception):
    """The base of all errors that cepkit raises on purpose.

    Args:
        found: What was found, as a sentence without a full stop.
        expected: What would have been right.
        hint: What to do now.

    Attributes:
        about: Its subject among several, as ``"query 2 of 3"``; None if there is only one.

    Example:
        >>> import cepkit as ck
        >>> try:
        ...     ck.parse("PATTERN SEQ(MSFT a, GOOG a)")
        ... except ck.CepkitError as error:
        ...     print(error)
        ...
        line 1, column 21
          PATTERN SEQ(MSFT a, GOOG a)
                              ^^^^^^
        the variable 'a' is named twice
        Expected: a name of its own for each event
    """

    about: str | None = None

    def __init__(self, found: str, *, expected: str | None = None, hint: str | None = None) -> None:
        self.found = _cut(found)
        self.expected = None if expected is None else _cut(expected)
        self.hint = None if hint is None else _cut(hint)
        super().__init__(self.found, self.expected, self.hint)

    @classmethod
    def unknown(
        cls, found: str, name: object, known: Iterable[str], *, option: str = "", beside: str = ""
    ) -> Self:
        """Return the error of an unknown name, with the nearest known one as a hint.

        Args:
            name: The name that the user wrote.
            known: The valid names.
            option: The option of the names, as ``"by= "``.
            beside: Other valid values, as ``", or a number"``.
        """
        names = tuple(known)
        more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
        first = ", ".join(names[:_MOST_SHOWN])
        expected = f"{option}one of {first}{more}{beside}" if names else None
        return cls(found, expected=expected, hint=nearest(str(name), names))

    def _place(self) -> list[str]:
        """Return the lines that show the place."""
        return [self.about] if self.about else []

    def __str__(self) -> str:
        lines = [*self._place(), self.found]
        if self.expected:
            lines.append(f"Expected: {self.expected}")
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        # A lone surrogate has no encoding, so the message could not be printed.
        return "\n".join(lines).encode(errors="replace").decode()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), dict(self.__dict__))

    def _render_traceback_(self) -> list[str]:
        """Show the message without our frames in a notebook (a hook of IPython)."""
        return [f"{type(self).__name__}: {self}"]


def _rebuild(kind: type[CepkitError], state: dict[str, object]) -> CepkitError:
    """Rebuild an error after unpickling in another process."""
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (state.get("found"), state.get("expected"), state.get("hint"))
    return error


class PlacedError(CepkitError):
    """An error with its place in the text of the pattern, if it has one.

    Args:
        found: What was found.
        span: The place in the pattern's text.
        **words: What was expected, and a hint.
    """

    def __init__(self, found: str, *, span: Span | None = None, **words: str | None) -> None:
        super().__init__(found, **words)
        self.span = span

    @classmethod
    def unknown(
        cls,
        found: str,
        name: object,
        known: Iterable[str],
        *,
        span: Span | None = None,
        **words: str,
    ) -> Self:
        """Return `CepkitError.unknown` with the place in the pattern's text."""
        error = super().unknown(found, name, known, **words)
        error.span = span
        return error

    def _place(self) -> list[str]:
        if self.span is None:
            return super()._place()
        place = f"line {self.span.line}, column {self.span.column}"
        return [", ".join([*super()._place(), place]), self.span.underlined()]


class ArgumentError(CepkitError, TypeError, ValueError):
    """A wrong argument: of another type, out of range, or with an unknown name."""


class PatternError(PlacedError, ValueError):
    """A pattern without a meaning, with the place in its text if there is one."""


class PatternSyntaxError(PatternError):
    """The pattern's text does not follow the grammar (docs/pattern-language.md)."""


class UnsupportedError(PlacedError, NotImplementedError):
    """The pattern is right, but the engine or mechanism does not support a named part of it."""


class StreamError(CepkitError, ValueError):
    """A stream that cannot be read as events: a column is missing, a value is not a time."""


class StatisticsError(CepkitError, ValueError):
    """Statistics that do not belong to the pattern, or impossible values."""


class PlanError(CepkitError, ValueError):
    """A plan that does not belong to the pattern, or an unknown planner."""


class TraceError(CepkitError, ValueError):
    """A value that is not a trace, or is a trace of another stream."""


class FileError(CepkitError, OSError):
    """A file that cannot, or must not, be written.

    Args:
        found: What was found.
        cause: The system's error, if any; it has the `errno`.
        **words: What was expected, and a hint.
    """

    def __init__(self, found: str, *, cause: OSError | None = None, **words: str | None) -> None:
        super().__init__(found, **words)
        # Restore what OSError made of the three.
        self.errno = None if cause is None else cause.errno
        self.strerror = None if cause is None else cause.strerror
        self.filename = None if cause is None else cause.filename


class LimitError(CepkitError, RuntimeError):
    """A result or a search that would grow past its limit."""


class SessionError(CepkitError, RuntimeError):
    """A Spark session that no longer runs."""


class MissingPackageError(CepkitError, ImportError):
    """A package is missing that one of cepkit's extras installs."""


class JavaNotFoundError(CepkitError, RuntimeError):
    """Neither an installed Java nor a bundled one can run Spark."""


@contextmanager
def telling(about: str | None) -> Iterator[None]:
    """Let errors name the query that they are about."""
    try:
        yield
    except CepkitError as error:
        error.about = None if about is None else _cut(about)
        raise
