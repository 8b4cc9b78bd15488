"""The studio as a notebook app."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import ipywidgets

from cepkit.errors import ArgumentError, LimitError
from cepkit.files import HTML, JSON, write_text
from cepkit.pattern.builder import Pattern, as_query
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.stream.stream import Stream, check_stream
from cepkit_widgets.kit.app import App
from cepkit_widgets.kit.parts import error_note
from cepkit_widgets.kit.work import Work
from cepkit_widgets.match_browser.view import MatchBrowser
from cepkit_widgets.pattern_editor.trial import Trial
from cepkit_widgets.pattern_editor.view import PatternEditor
from cepkit_widgets.plan_explorer.view import PlanExplorer
from cepkit_widgets.studio.editable import editable_page
from cepkit_widgets.studio.learning import Learner
from cepkit_widgets.studio.making import Played, Shown, follow, maker, missed
from cepkit_widgets.studio.page import studio_html
from cepkit_widgets.studio.sharing import shared_page
from cepkit_widgets.studio.state import DOING, MOST_ASKED, StudioState, part_of

_FIRST_PATIENCE = 12.0
"""The most seconds until the page is shown; what takes longer comes later."""
_NOTHING = '<p class="soft">This needs a correct pattern, whose parameters have values.</p>'


class Studio(App):
    """One page for a pattern: its text, its data, matches, plans, steps and reasons.

    Attributes:
        state: What it shows, without data.
        error: The error of the last input; None if it was valid.

    Example:
        >>> import cepkit as ck
        >>> trades = [{"ts": 1, "type": "MSFT"}, {"ts": 2, "type": "GOOG"}]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> print(ck.studio(stream, "PATTERN SEQ(MSFT a, GOOG b)"))
        Studio, matches: 1 match in the first 2 events
    """

    def __init__(
        self, stream: Stream, pattern: Query | Pattern | str | None = None, *, events: int = 5_000
    ) -> None:
        """Show a studio; see `cepkit.studio`."""
        self.state = StudioState("", events=events)
        self._stream = stream
        self._editor: PatternEditor | None = None
        self._made: dict[str, tuple[Hashable, Any]] = {}
        self._work: Work | None = None
        self._task: tuple[str, Hashable] | None = None
        self._part: tuple[int, int] | None = None
        self._trial: Trial | None = None
        self._lost: tuple[int, ...] = ()
        self._grids: dict[str, Any] = {}
        self._whole = False
        self._below = ipywidgets.VBox()
        super().__init__()
        self._box = ipywidgets.VBox([self, self._below])
        try:
            check_stream(stream)
            text = None
            if pattern is not None:
                text = pattern if isinstance(pattern, str) else str(as_query(pattern))
                self.state = StudioState.of(text, events)
                text = self.state.pattern
            editor = PatternEditor.panel_of(self, stream, text, events=self.state.events)
            self.error = editor.error
        except Exception as reason:  # noqa: BLE001 - an app never raises into the notebook
            self.error = reason
        if self.error is not None:
            self.refresh()
            return
        with self.moving:
            self._editor = editor
            if self.state.values:
                editor.bind(**self.state.values)
            self.changed(editor)
        self.wait(_FIRST_PATIENCE)

    def body(self) -> str:
        """Return the HTML of the app."""
        if self._editor is None:
            return ""
        tab = self.state.tab
        key, made = self._made.get(tab, (None, None))
        match made:
            case App() | Shown():
                content = made.html
            case Exception():
                content = error_note(made)
            case _:
                content = "" if self._task else _NOTHING
        return studio_html(
            self.state,
            self._editor.html,
            content,
            panel=tab if isinstance(made, App) else "",
            doing="" if self._task is None else DOING[self._task[0]],
            stale=made is not None and key != self._key(tab),
        )

    @property
    def panels(self) -> dict[str, App]:
        """The panels that are seen, by their names in the page."""
        panels = {tab: made for tab, (_, made) in self._made.items() if isinstance(made, App)}
        return panels if self._editor is None else {**panels, "editor": self._editor}

    @property
    def text(self) -> str:
        """The text in the editor, valid or not."""
        return self._there().text

    @property
    def pattern(self) -> Query | None:
        """The query of the text; None while it is invalid."""
        return self._there().pattern

    @property
    def matches(self) -> Any:
        """The result of `cepkit.detect` on the whole stream."""
        return self._there().matches

    def panel(self, tab: str) -> Any:
        """Return what a tab shows: an app, an answer, or an error; None while it is made.

        Args:
            tab: As "matches"; "editor" for the editor.
        """
        with self.moving:
            return self._there() if tab == "editor" else self._made.get(tab, (None, None))[1]

    def write(self, text: str) -> None:
        """Put another text in the editor."""
        self._there().write(text)

    def turn(self, tab: str) -> None:
        """Open a tab.

        Args:
            tab: "matches", "plan", "steps", "why not", "curve", "learn" or "hand over".
        """
        with self.moving:
            self._there()
            self._to(self.state.at(tab))

    def ask(self, *events: int) -> None:
        """Ask why events are no match; without any why nothing matches.

        Args:
            *events: Up to five, by their places in the order of time, from 0.
        """
        with self.moving:
            self._there()
            self._to(replace(self.state, asked=events[-MOST_ASKED:]).at("why not"))

    def bind(self, **values: Any) -> None:
        """Give the parameters of the pattern (`$k`) values."""
        plain = {n: v if isinstance(v, int | float | str) else f"{v}" for n, v in values.items()}
        with self.moving:
            self.state = replace(self.state, values=plain)
            self._there().bind(**plain)

    def restore(self, source: str) -> None:
        """Show what a studio saved: of a URL fragment, or the path of its file.

        Raises:
            ArgumentError: It is none.
        """
        with self.moving:
            editor, state = self._there(), StudioState.of(source, self.state.events)
            editor.bind(**state.values)
            editor.write(state.pattern)
            for tab in filter(self._is_current, ("matches", "plan")):
                follow(self._made[tab][1], state)
            self._to(replace(state, pattern=editor.text, events=self.state.events))

    def calibrate(self, **grids: Any) -> None:
        """Open the curve with these values of parameters, as `cepkit.calibrate` takes them."""
        with self.moving:
            self._there()
            self._grids = grids
            self._made.pop("curve", None)
            self._to(self.state.at("curve"))

    @property
    def fragment(self) -> str:
        """The pattern and the settings, never the data, as the fragment of a URL."""
        return self.state.fragment

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the pattern and the settings, never the data, as JSON: `studio(stream, path)`.

        Args:
            path: The file, whose name ends in .json.
            overwrite: Whether to replace a file that exists.

        Raises:
            FileError: The file exists already, or cannot be written.
        """
        return write_text(path, self.state.to_json() + "\n", JSON, overwrite=overwrite)

    def save_html(
        self, path: str | PathLike[str], *, redact: Sequence[str] = (), editable: bool = False,
        overwrite: bool = False,
    ) -> Path:  # fmt: skip
        """Write a page for others: the pattern, matches, the plan and a player, offline.

        It has 2,000 events at most, those around the chosen match, and of them the time, the type,
        and the columns that the pattern reads.

        Args:
            path: The HTML file.
            redact: Columns whose values the page replaces by numbers, equal ones by the same.
                Constants in the pattern stay.
            editable: Whether readers may change the pattern. It then has all columns but those of
                `redact`, and is served from the folder that `make lite` builds.
            overwrite: Whether to replace a file that exists.

        Raises:
            PatternError: The text is wrong, or a parameter has no value.
            StreamError: There is no such column, or it is the time or the type.
            FileError: The file exists already, or cannot be written.
        """
        with self.moving:
            editor = self._there()
            given = editor.sample, editor.query, self.state.match, self._plan()
        page = editable_page if editable else shared_page
        return write_text(path, page(*given, redact), HTML, overwrite=overwrite)

    def wait(self, seconds: float = 30.0) -> bool:
        """Wait until the editor and the open tab are up to date; return whether they are."""
        if not self._there().wait(seconds):
            return False
        while True:
            with self.moving:
                work, task = self._work, self._task
            if work is None or task is None:
                return True
            if not work.wait(seconds):
                return False

    def stop(self) -> None:
        """Stop what runs in the background."""
        if self._work is not None:
            self._work.stop()

    def act(self, name: str, value: Any) -> None:
        """Handle an action of the user."""
        self._there()
        match name:
            case "tab":
                self._to(self.state.at(str(value)))
            case "ask":
                self._to(self.state.asking(int(value)))
            case "use":
                made = self.panel("curve")
                if isinstance(made, Shown):
                    names = made.value.query.parameters
                    values = made.value.rows[int(value)].values
                    self.bind(**dict(zip(names, values, strict=True)))
            case "miss":
                self.ask(*missed(self._there().trial, int(value)))
            case "whole":
                self._whole = True
                self._to(self.state)
            case "link":
                self.restore(str(value))
            case "stop":
                self.stop()
            case _:
                raise ArgumentError(f"there is nothing to do called '{name}'")

    def resize(self, width: int) -> None:
        """Take the width of the page."""
        super().resize(width)
        for panel in self.panels.values():
            panel.width = width
            panel.refresh()

    def changed(self, panel: App) -> None:
        """Follow what the user did in a panel: the others show the same match and plan."""
        if panel not in self.panels.values():
            return
        state = self.state
        match panel:
            case PatternEditor():
                if panel.trial is not self._trial:
                    self._trial = panel.trial
                    if panel.choose(state.match):
                        panel.refresh()
                        return
                    # The browser may know it, of the whole stream.
                    self._lost = state.match
                state = state.written(panel.text)
                if panel.chosen:
                    state = replace(state, match=panel.chosen)
            case MatchBrowser():
                shown = panel.state.condition if self._is_current("matches") else state.filter
                state = replace(state, match=panel.chosen or state.match, filter=shown)
            case PlanExplorer() if panel.outlook is not None:
                if self._is_current("plan"):
                    state = replace(state, moved=panel.outlook.state.moved)
                if panel.outlook.chosen and panel.outlook.chosen != state.planner:
                    state = replace(state, planner=panel.outlook.chosen)
                    panel.act("run", None)
        self._to(state)

    def _to(self, state: StudioState) -> None:
        """Show a state: panels follow the chosen match, and what is missing is made."""
        self.state = state
        for panel in self.panels.values():
            shows_matches = isinstance(panel, PatternEditor | MatchBrowser)
            if shows_matches and panel.chosen != state.match and panel.choose(state.match):
                panel.refresh()
        self._make()
        made = self._made.get("steps", (None, None))[1]
        if isinstance(made, Shown) and state.match in made.value.matches:
            made.value.player.step = made.value.matches[state.match]
        self._below.layout.display = "" if state.tab == "steps" else "none"
        self.refresh()

    def _make(self) -> None:
        """Begin to make what the open tab lacks."""
        tab = self.state.tab
        key = self._key(tab)
        if key is None or key == self._made.get(tab, (None, None))[0]:
            return
        if self._task is not None and self._task == (tab, key):
            return
        if self._work is not None:
            self._work.stop()
        task = self._task = (tab, key)
        make = self._maker(tab)
        self._work = Work(make, lambda made, error: self._arrived(task, made, error))

    def _maker(self, tab: str) -> Callable[[], Any]:
        """Return what makes the content of a tab; it takes long, and holds no lock."""
        editor, state = self._there(), self.state
        if tab == "learn":
            return lambda: Learner.panel_of(self, self._stream, editor.sample, self.write)
        if tab == "steps":
            self._part = part_of(state.match, len(editor.sample.columns(())), self._part)
        return maker(
            tab, self, editor, self._stream, state.asked,
            part=self._part or (0, 0), plan=self._plan(), grids=self._grids, whole=self._all,
        )  # fmt: skip

    def _arrived(self, task: tuple[str, Hashable], made: Any, error: BaseException | None) -> None:
        """Take over what was made."""
        with self.moving:
            if task is not self._task:
                return
            self._task, (tab, key) = None, task
            if isinstance(error, KeyboardInterrupt):
                error = LimitError("this was stopped", hint="open the tab again")
            self._made[tab] = key, made if error is None else error
            lost, self._lost = self._lost, ()
            match made:
                case MatchBrowser():
                    if lost and made.choose(lost):
                        self.state = replace(self.state, match=lost)
                    made.choose(self.state.match)
                    follow(made, self.state)
                case PlanExplorer():
                    follow(made, self.state)
                case Shown(value=Played(player=player)):
                    for old in self._below.children:
                        old.close()
                    self._below.children = (player,)
            if isinstance(made, App):
                made.width = self.width
                made.refresh()  # it calls `changed`
            else:
                self._to(self.state)

    def _is_current(self, tab: str) -> bool:
        """Whether what a tab shows is of the text and the settings of now."""
        key, made = self._made.get(tab, (None, None))
        return isinstance(made, App) and key == self._key(tab)

    def _plan(self) -> Plan | None:
        """Return the plan that the steps follow; None: rare events first."""
        explorer = self._made["plan"][1] if self._is_current("plan") else None
        return explorer.plan if self.state.planner and explorer is not None else None

    @property
    def _all(self) -> bool:
        """Whether the curve counts in the whole stream: asked for, or no larger than the sample."""
        every = len(self._there().sample.columns(())) < self.state.events
        return self._stream.place == "local" and (self._whole or every)

    def _there(self) -> PatternEditor:
        if self._editor is None:
            raise ArgumentError("there is nothing to edit", hint="the app says what is wrong")
        return self._editor

    def _key(self, tab: str) -> Hashable:
        """Return what the content of a tab depends on; None: there is no query to make it of."""
        editor = self._there()
        if tab == "learn":
            return tab
        query = editor.written if tab == "curve" else editor.tried
        if query is None:
            return None
        match tab:
            case "steps":
                part = part_of(self.state.match, len(editor.sample.columns(())), self._part)
                return query, part, getattr(self._plan(), "branches", None)
            case "why not":
                return query, self.state.asked
            case "curve":
                return query, tuple(self._grids), self._all
            case "hand over":
                return query, editor.as_code()
        return (query,)

    def __repr__(self) -> str:
        if self._editor is None:
            return f"Studio: {self.error}"
        return f"Studio, {self.state.tab}: {str(self._editor).removeprefix('PatternEditor: ')}"

    def to_html(self) -> str:
        """Return a static copy of the page, for pages without a kernel; its player plays."""
        html = super().to_html()
        made = self._made.get("steps", (None, None))[1]
        if self.state.tab == "steps" and isinstance(made, Shown):
            html += made.value.player.to_html()
        return html

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Show the player below the page; a static copy stands beside them."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        data, metadata = made
        box = self._box._repr_mimebundle_(**kwargs)
        return {**box, **{k: v for k, v in data.items() if k.startswith("text/")}}, metadata
