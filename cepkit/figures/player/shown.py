"""The player that `draw(trace)` returns: shown as HTML, saved as a file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from cepkit.arguments import check_range, typed
from cepkit.figures.player import page
from cepkit.figures.player.carried import CarriedData
from cepkit.figures.player.document import DEFAULT_STEPS, Traces, player_document
from cepkit.figures.player.questions import MOST_QUESTIONS, draw_questions
from cepkit.files import HTML, write_text
from cepkit.printing import html_lines, html_output, html_text, plain
from cepkit.tables import html_table, text_table
from cepkit.tracing import AdaptedTrace


class Player:
    """Traces to play: one card each, over the same events in lockstep.

    In a notebook it plays if it is the last value of a cell, and still plays in the notebook
    exported as HTML, without a kernel or a network. `cepkit_widgets.PlayerWidget` is the same with
    a position that Python can read and set.
    """

    def __init__(
        self,
        traces: Traces | AdaptedTrace,
        *,
        steps: int = DEFAULT_STEPS,
        start: int = 0,
        link: str | None = None,
        attributes: Sequence[str] | None = None,
        redact: Sequence[str] = (),
        quiz: int = 0,
        seed: int | str = 0,
    ) -> None:
        """Collect the document to show.

        Args:
            traces: Of one pattern over one stream, all from `simulate` or all from
                prefix counters; or the generations of one that changed its plan, a card for each.
            steps: How many steps at most, up to 20,000; a note above says if steps are cut.
            start: The position where it begins: how many steps have been taken.
            link: Any name: in a page the step of one player moves all that have the same.
            attributes: The attributes of events that the page contains; None for all.
            redact: Attributes whose values the page replaces by numbers: "#1" stands for the
                first value, and for every one that equals it.
            quiz: How many questions to ask at most, "which instances does this event extend?",
                each before the step that it is about is shown; 0 for none.
            seed: Another seed draws other questions.

        Raises:
            TraceError: The traces do not belong together, `steps` is out of range, the events
                have no such attribute, or there is nothing to ask.
        """
        check_range("quiz", quiz, 0, MOST_QUESTIONS)
        if isinstance(traces, AdaptedTrace):
            traces = traces.traces
        self._content = player_document(traces, steps, CarriedData(attributes, redact))
        if quiz:
            asked = range(start, self.steps)
            self._content["quiz"] = draw_questions(traces, asked, quiz, seed)
        self._titles = traces[0].total_titles
        self._start = start
        self._link = link

    @cached_property
    def document(self) -> str:
        """The document that is played, as JSON (`cepkit.player/1`)."""
        return json.dumps(self._content, ensure_ascii=False, separators=(",", ":"))

    @property
    def steps(self) -> int:
        """How many steps there are to play."""
        return max(len(trace["steps"]) for trace in self._content["traces"])

    @typed
    def save_html(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the player as a page that plays anywhere, offline.

        Args:
            path: The HTML file.
            overwrite: Whether to replace a file that exists; it stays until the new one is whole.

        Returns:
            The path.

        Raises:
            FileError: The file exists already, or cannot be written.
        """
        names = ", ".join(trace["name"] for trace in self._content["traces"])
        return write_text(path, self.to_page(f"cepkit: {names}"), HTML, overwrite=overwrite)

    def to_page(self, title: str, before: str = "") -> str:
        """Return a whole page that plays anywhere, offline.

        Args:
            before: HTML above the player.
        """
        body = page.fragment(
            self.document, self._fallback(), step=self._start, link=self._link, page=not before
        )
        return page.page(title, before + body)

    def __repr__(self) -> str:
        return f"{self._headline()}\n{text_table(*self._totals())}"

    def to_html(self) -> str:
        """Return HTML that plays inside any page where scripts run, and shows a note elsewhere."""
        return page.fragment(self.document, self._fallback(), step=self._start, link=self._link)

    def _repr_html_(self) -> str:
        return self.to_html()

    def _headline(self) -> str:
        content = self._content
        traces = len(content["traces"])
        events = len(content["events"]["id"])
        plural = "s" if traces > 1 else ""
        cut = f" {content['cut']}" if content["cut"] else ""
        return f"Player of {traces} trace{plural} over {events:,} events.{cut}"

    def _totals(self) -> tuple[list[str], list[list[str]]]:
        traces = self._content["traces"]
        _, *totals = self._titles
        rows = [
            [plain(trace["name"]), *(f"{trace['totals'][name]:,}" for name in totals)]
            for trace in traces
        ]
        return list(self._titles.values()), rows

    def _fallback(self) -> str:
        """Return the HTML shown where no scripts run."""
        note = "It plays where scripts may run: in a trusted notebook, or in a page that it saves."
        return html_output(
            f"<p>{html_text(self._headline())} {note}</p>",
            html_lines(self._content["pattern"]),
            html_table(*self._totals()),
        )
