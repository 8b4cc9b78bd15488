"""The verb `studio`: one page for a pattern, from the package with buttons."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cepkit.api.arguments import Pattern
from cepkit.arguments import typed
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from cepkit_widgets import Studio


@typed
def studio(stream: Stream, pattern: Pattern | None = None, *, events: int = 5_000) -> Studio:
    """Open one page for a pattern: its text, its data, matches, plans, steps and reasons.

    It needs a notebook: ``pip install 'cepkit[notebook]'``. The command ``cepkit studio`` opens it
    in a browser.

    Args:
        stream: From `events`.
        pattern: The initial pattern, or its text, valid or not; or what a studio saved: the path of
            its JSON file, or its URL fragment. None: a sequence of two events.
        events: How many events the sample has that is searched while you type: the first ones.

    Returns:
        An app to show as the last value of a cell; `state`, `pattern` and `matches` hold what it
        shows. Wrong input never stops the notebook: the app shows the error.

    Raises:
        MissingPackageError: The packages for notebooks are not installed.

    Example:
        >>> import cepkit as ck
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> print(ck.studio(stream, "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price"))
        Studio, matches: 1 match in the first 3 events
    """
    # By name: apps stand above the package.
    apps: Any = import_module("cepkit_widgets")
    made: Studio = apps.Studio(stream, pattern, events=events)
    return made
