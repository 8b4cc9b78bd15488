"""The panel of a studio that proposes patterns before incidents."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import cepkit as ck
from cepkit.api.learning import fetched
from cepkit.columnar.results.matches import Matches
from cepkit.errors import ArgumentError, PatternError
from cepkit.learning.result import Learned
from cepkit.pattern.names import type_text
from cepkit.printing import html_text
from cepkit.progress import Work as Progress
from cepkit.progress import showing
from cepkit.stream.stream import Stream
from cepkit.tables import count_text, number
from cepkit_widgets.kit.app import App
from cepkit_widgets.kit.parts import (
    ERROR_PLACE,
    Cell,
    button,
    choice,
    html_text_lines,
    progress_bar,
    scrolling,
    table,
)
from cepkit_widgets.kit.work import Work
from cepkit_widgets.matches.known import KnownMatches
from cepkit_widgets.matches.look import Around, Seen
from cepkit_widgets.matches.timeline import timeline_svg

CHOSEN, ANY = "chosen below", "any type"
_ALL = "everything"
_IN_VIEW, _LANES = 150, 8
_MARK = "x"
_LOOK = 0.3


class Learner(App):
    """Incidents, chosen by hand or by a type and a condition, and the patterns before them.

    Attributes:
        learned: What `cepkit.learn` returned; None before.
        incidents: The rows of the incidents that it was learned from.

    Args:
        stream: The whole stream.
        sample: Its first events, those on the time line.
        take: Takes the text of a proposal that is opened.
    """

    def __init__(self, stream: Stream, sample: Stream, take: Callable[[str], None]) -> None:
        self._stream, self._sample, self._take = stream, sample, take
        self._columns = sample.columns(())
        names = self._columns.type_names
        counts = Counter(names[code] for code in self._columns.types.tolist())
        schema = sample.schema
        self._types = [name for name, _ in counts.most_common() if schema.type is not None]
        self._keys = [n for n in sample.column_names if n not in (schema.time, schema.type)]
        self._settings = {"source": CHOSEN, "where": "", "within": "10 minutes", "by": _ALL}
        self._chosen: set[int] = set()
        self._begin = 0
        self._work: Work | None = None
        self._progress: Progress | None = None
        self.learned: Learned | None = None
        self.incidents: pd.DataFrame | None = None
        super().__init__()

    def choose(self, *events: int) -> None:
        """Choose events of the sample as incidents, or no longer, by their places in time."""
        with self.moving:
            for event in events:
                if not 0 <= event < len(self._columns):
                    raise ArgumentError(f"there is no event {event} in the sample")
            self._settings["source"] = CHOSEN
            self._chosen ^= {*events}
            self.refresh()

    def learn(
        self,
        incidents: Any = None,
        *,
        type: str | None = None,  # noqa: A002 - as in `events`
        where: str = "",
        within: str = "10 minutes",
        by: str | None = None,
    ) -> None:
        """Learn in the background, from incidents as `cepkit.learn` takes them, or from events.

        Args:
            incidents: The incidents; None for events of the stream, which are left out of it.
            type: The type of these events; None for those that are chosen.
            where: A condition on them, as `x.temp > 90`.
            within: How long before an incident an alarm may be.
            by: The column of the key.
        """
        with self.moving:
            self._settings = {
                "source": type or (ANY if where else CHOSEN),
                "where": where,
                "within": within,
                "by": by or _ALL,
            }
            self.error = None
            self._start(incidents)
            self.refresh()

    def wait(self, seconds: float = 30.0) -> bool:
        """Wait until nothing runs; return whether that is so."""
        return self._work is None or self._work.wait(seconds)

    def stop(self) -> None:
        """Stop; the best proposals so far are shown."""
        if self._work is not None:
            self._work.stop()

    def act(self, name: str, value: Any) -> None:
        """Handle an action of the user."""
        match name:
            case "source" | "where" | "within" | "by":
                self._settings[name] = str(value)
            case "incident":
                self.choose(int(value))
            case "begin":
                self._begin = max(0, min(int(value), len(self._columns) - 1))
            case "learn":
                self._start()
            case "stop":
                self.stop()
            case "open":
                assert self.learned is not None
                self._take(self.learned.proposals[int(value)].text)
            case _:
                raise ArgumentError(f"there is nothing to do called '{name}'")

    def body(self) -> str:
        """Return the HTML of the panel."""
        settings = self._settings
        by_hand = settings["source"] == CHOSEN
        running = self._work is not None and self._work.running
        share = self._progress.share if self._progress is not None else None
        runs = progress_bar("learning", share) + button("stop", "Stop")
        return (
            '<div class="bar">'
            + choice("source", "incidents", [CHOSEN, ANY, *self._types], settings["source"])
            + ("" if by_hand else self._field("where", "x.value > 90", 22))
            + choice("by", "same", [_ALL, *self._keys], settings["by"])
            + self._field("within", "10 minutes", 10)
            + (runs if running else button("learn", "Learn"))
            + f"</div>{ERROR_PLACE}{self._time_line() if by_hand else ''}{self._proposals()}"
        )

    def _field(self, name: str, example: str, size: int) -> str:
        return (
            f'<label><span>{name}</span><input type="text" size="{size}" data-set="{name}" '
            f'value="{html_text(self._settings[name])}" placeholder="{example}"></label>'
        )

    def _time_line(self) -> str:
        """Return some events of the sample, of which incidents are chosen."""
        columns, begin = self._columns, self._begin
        end = min(len(columns), begin + _IN_VIEW)
        ats = (columns.ts[begin:end] - columns.ts[begin : begin + 1]) / 1e6
        names = [columns.type_names[code] for code in columns.types[begin:end].tolist()]
        lanes = [name for name, _ in Counter(names).most_common()]
        shown = tuple(lanes if len(lanes) <= _LANES else [*lanes[: _LANES - 1], "other types"])
        seen = tuple(
            Seen(
                begin + i,
                float(at),
                min(lanes.index(name), len(shown) - 1),
                _MARK if begin + i in self._chosen else None,
                f"{name}, event {begin + i:,}",
            )
            for i, (at, name) in enumerate(zip(ats, names, strict=True))
        )
        start = str(pd.Timestamp(int(columns.ts[begin]), unit="us")) if len(columns) else ""
        around = Around(shown, seen, 0.0, float(ats[-1]) if len(ats) else 0.0, start, 0)
        line = timeline_svg(around, (_MARK,), self.width, action="incident", joined=False)
        return (
            '<div class="bar">'
            + button("begin", "Earlier", str(begin - _IN_VIEW), disabled=not begin)
            + button("begin", "Later", str(end), disabled=end == len(columns))
            + f"<span>events {begin:,} to {end - 1:,}; choose those that are incidents: "
            f"{count_text(len(self._chosen), 'event')} chosen</span></div>"
            + scrolling("events, of which incidents are chosen", line)
        )

    def _proposals(self) -> str:
        learned = self.learned
        if learned is None:
            return ""
        if not learned.proposals:
            return f'<p class="note">{html_text_lines(str(learned))}</p>'
        picture = scrolling(
            "proposed patterns", ck.draw(learned).to_inline_svg(max(460, self.width))
        )
        rows: list[tuple[str | Cell, ...]] = [
            (
                Cell(button("open", "Open", str(place), label=f"Open proposal {place + 1}")),
                Cell(html_text(" ".join(each.text.split())), "wide"),
                f"{each.f1:.3f}",
                number(each.false_alarms_per_day),
            )
            for place, each in enumerate(learned.proposals)
        ]
        head = ["", "pattern", "F1", "false a day"]
        return picture + table("proposed patterns", head, rows, numbers=(2, 3))

    def _start(self, incidents: Any = None) -> None:
        if self._work is not None and self._work.running:
            raise ArgumentError("it is learning", hint="wait, or stop it")
        settings = dict(self._settings)
        rows = sorted(self._chosen)
        if incidents is None and settings["source"] == CHOSEN and not rows:
            raise ArgumentError(
                "no incident is chosen",
                expected="events of the time line, a type, or a condition",
            )
        self._progress = None
        done = threading.Event()

        def ended(learned: Learned | None, error: BaseException | None) -> None:
            with self.moving:
                self._progress = None
                if error is not None and not isinstance(error, KeyboardInterrupt):
                    self.error = error if isinstance(error, Exception) else None
                elif learned is not None:
                    self.learned = learned
                done.set()
                self.refresh()

        self._work = Work(lambda: self._learn(settings, rows, incidents), ended)
        threading.Thread(target=self._follow, args=(done,), daemon=True).start()

    def _follow(self, done: threading.Event) -> None:
        """Show progress until the end."""
        while not done.wait(_LOOK):
            with self.moving:
                self.refresh()

    def _learn(self, settings: dict[str, str], chosen: list[int], incidents: Any) -> Learned:
        by = None if settings["by"] == _ALL else settings["by"]
        stream = fetched(self._stream)
        if incidents is None:
            stream, incidents = parted(stream, settings["source"], settings["where"], chosen, by)
        self.incidents = incidents
        with showing("learning", progress=False) as self._progress:
            return ck.learn(stream, incidents, within=settings["within"], by=by, progress=False)

    def __repr__(self) -> str:
        return f"Learner: {'nothing learned' if self.learned is None else str(self.learned)}"


def parted(
    stream: Stream, source: str, where: str, chosen: list[int], by: str | None
) -> tuple[Stream, pd.DataFrame]:
    """Return the events that are no incidents, and the incidents.

    Args:
        stream: A local stream.
        source: The type of the incidents, `ANY`, or `CHOSEN`.
        where: A condition on them.
        chosen: The places in time of those that are chosen.
        by: The column of the key.

    Raises:
        PatternError: The condition is wrong.
    """
    whole = stream.head(len(stream))
    columns = whole.columns(())
    rows = np.array(chosen, np.int64)
    if source != CHOSEN:
        kind = "ANY" if source == ANY else type_text(source)
        condition = f" WHERE {where}" if where.strip() else ""
        if source == ANY and not condition:
            raise PatternError("every event is an incident", expected="a type, or a condition")
        matches = ck.detect(whole, f"PATTERN {kind} x{condition}", progress=False)
        assert isinstance(matches, Matches)
        known = KnownMatches(matches)
        known.at_least(len(columns))
        columns, rows = matches.columns, known.first("x")[: known.size]
    events = whole.rows()
    at = columns.source_rows(rows)
    schema = whole.schema
    if schema.unit is not None:
        times = events.column(schema.time).take(at).to_pandas()
    else:
        times = pd.to_datetime(columns.ts[rows], unit="us", utc=True)
    frame = pd.DataFrame({"time": times})
    if by is not None:
        frame[by] = events.column(by).take(at).to_pandas().to_numpy()
    others = np.setdiff1d(np.arange(len(events)), at)
    return Stream(events.take(others), schema, whole.column_names), frame
