"""The player as a notebook widget: it wraps the file that `cepkit.draw` inlines."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any

import anywidget
import traitlets

from cepkit.figures.player import DEFAULT_STEPS, Player, Traces, script
from cepkit.tracing import AnyTrace, Trace
from cepkit_widgets.player.state import PlayerState


class PlayerWidget(anywidget.AnyWidget):
    """Traces to play, whose position Python can read, set and follow.

    ``widget.step`` is the number of steps taken. It follows the user, at most eight times a second,
    and the player follows it; ``widget.observe(handler, "step")`` reports both.

    Example:
        >>> import cepkit as ck
        >>> from cepkit_widgets import PlayerWidget
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> widget = PlayerWidget(ck.simulate(stream, "PATTERN SEQ(MSFT a, GOOG b)", "eager-nfa"))
        >>> widget.next_match()
        >>> widget.step, widget.steps
        (2, 4)
    """

    _esm = script()

    document = traitlets.Unicode().tag(sync=True)
    """The document to play, as JSON (`cepkit.player/1`)."""
    step = traitlets.Int(0).tag(sync=True)
    """How many steps have been taken, from 0 to `steps`."""
    link = traitlets.Unicode("").tag(sync=True)
    """Players of a page with the same link move together; empty for none."""

    def __init__(
        self,
        traces: AnyTrace | Traces,
        *,
        steps: int = DEFAULT_STEPS,
        step: int = 0,
        link: str = "",
        attributes: Sequence[str] | None = None,
        redact: Sequence[str] = (),
    ) -> None:
        """Show traces of one pattern over one stream.

        Args:
            traces: From `cepkit.simulate`; one card each.
            steps: How many steps at most, up to 20,000; a note above says if steps are cut.
            step: Where to begin.
            link: Any name: the step of one player moves all that have the same.
            attributes: The attributes of events to show; None for all.
            redact: Attributes whose values are replaced by numbers.

        Raises:
            TraceError: The traces do not belong together, or `steps` is out of range.
        """
        self._player = Player(
            [traces] if isinstance(traces, Trace) else traces,
            steps=steps,
            link=link or None,
            attributes=attributes,
            redact=redact,
        )
        self._beginning = PlayerState.of(self._player.document)
        self._moving = RLock()
        super().__init__(document=self._player.document, step=step, link=link)

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return self._beginning.steps

    @property
    def state(self) -> PlayerState:
        """Where the player is."""
        return self._beginning.at(self.step)

    def next_match(self) -> None:
        """Go to the next match, if there is one."""
        self.step = self.state.next_match().step

    def previous_match(self) -> None:
        """Go to the match before, if there is one."""
        self.step = self.state.previous_match().step

    def to_html(self) -> str:
        """Return HTML that plays inside any page where scripts run, and shows a note elsewhere."""
        return self._player.to_html()

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take over the state from the page.

        Notebooks call this in another thread. Traits are not thread-safe: a step that a cell sets
        at the same moment would get lost on its way to the page.
        """
        with self._moving:
            super().set_state(sync_data)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "step":
            with self._moving:
                super().__setattr__(name, value)
        else:
            super().__setattr__(name, value)

    @traitlets.validate("step")
    def _within(self, proposal: dict[str, Any]) -> int:
        return self._beginning.at(proposal["value"]).step

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Add a player for pages without widgets, as an exported notebook."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        data, metadata = made
        told = {"text/plain": repr(self._player), "text/html": self.to_html()}
        return {**data, **told}, metadata
