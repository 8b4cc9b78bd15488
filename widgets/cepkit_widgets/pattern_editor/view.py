"""The pattern editor as a notebook app."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from cepkit import detect
from cepkit.arguments import check_range
from cepkit.errors import ArgumentError, CepkitError, PatternError
from cepkit.pattern.builder import Pattern, as_query
from cepkit.pattern.names import type_text
from cepkit.pattern.query import Query
from cepkit.stream.stream import Stream, check_stream
from cepkit.tables import count_text
from cepkit_widgets.kit.app import App
from cepkit_widgets.kit.parts import Suggestions
from cepkit_widgets.kit.work import Work
from cepkit_widgets.pattern_editor.page import EditorOutlook, editor_html
from cepkit_widgets.pattern_editor.running import Running
from cepkit_widgets.pattern_editor.state import Reading, characters_before, plain_text, read
from cepkit_widgets.pattern_editor.trial import Trial, tried
from cepkit_widgets.pattern_editor.words import Vocabulary, completion

_REST = 0.3
"""The pattern is tried on the sample after this many seconds without typing."""
_PATIENCE = 3.0
"""The most seconds of a trial."""
_FIRST_PATIENCE = 12.0
"""The same for the first trial, which may have to compile."""
_LOOK = 0.5
"""Seconds between two looks at a run over the whole stream."""


class PatternEditor(App):
    """A pattern editor: it parses while you type, tries a sample, and runs the whole stream.

    Attributes:
        error: The error of the last input other than the text; None if it was valid.

    Example:
        >>> import cepkit as ck
        >>> from cepkit_widgets import PatternEditor
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> editor = PatternEditor(stream, "PATTERN SEQ(MSFT a, GOOG b)")
        >>> editor.wait()
        True
        >>> print(editor)
        PatternEditor: 2 matches in the first 3 events
    """

    def __init__(
        self,
        stream: Stream,
        pattern: Query | Pattern | str | None = None,
        *,
        events: int = 5_000,
    ) -> None:
        """Show an editor.

        Args:
            stream: From `cepkit.events`.
            pattern: The initial text, valid or not; None: a sequence of two events.
            events: How many events the sample has: the first of the stream.
        """
        self._stream = stream
        self._sample: Stream | None = None
        self._reading = Reading("")
        self._good: Query | None = None
        self._suggestions = Suggestions()
        self._trial: Trial | None = None
        self._refused: CepkitError | None = None
        self._work: Work | None = None
        self._running: Running | None = None
        self._chosen = 0
        self._values: dict[str, object] = {}
        self._edits = 0
        self._tried = threading.Event()
        self._tried.set()

        def begin() -> None:
            check_range("events", events, 1)
            check_stream(stream)
            sample = stream.head(events)
            columns = sample.columns(())
            names = columns.type_names
            counts = Counter(names[code] for code in columns.types.tolist())
            self._events = len(columns)
            self._vocabulary = Vocabulary(
                {name: count_text(n, "event") for name, n in counts.most_common()},
                {n: str(sample.source.schema.field(n).type) for n in sample.column_names},
            )
            text = _beginning(list(self._vocabulary.types)) if pattern is None else pattern
            text = text if isinstance(text, str) else str(as_query(text))
            self._sample = sample
            self.write(text)
            # So that an exported page has the result.
            self.wait(_FIRST_PATIENCE + 1.0)

        super().__init__(begin)

    def body(self) -> str:
        """Return the HTML of the app."""
        if self._sample is None:
            return ""
        outlook = EditorOutlook(
            self._reading,
            self._suggestions,
            self._good,
            self._events,
            self._trial,
            self._refused,
            not self._tried.is_set(),
            self._chosen,
            self._running,
            self.as_code(),
            tuple(self._vocabulary.columns),
            self._values,
            self.owner is None,
        )
        return editor_html(outlook, self.width)

    @property
    def text(self) -> str:
        """The text in the editor, valid or not."""
        return self._reading.text

    @property
    def pattern(self) -> Query | None:
        """The query of the text; None while it is invalid."""
        return self._reading.query

    @property
    def matches(self) -> Any:
        """The result of `cepkit.detect` on the whole stream; after a run of this text, that run's.

        Raises:
            PatternError: The text is wrong.
        """
        query = self.query
        last = self._running
        if last is not None and last.query == query and last.matches is not None:
            return last.matches
        return detect(self._stream, query)

    @property
    def trial(self) -> Trial | None:
        """The result of the pattern on the sample; `wait` for that of the last text."""
        return self._trial

    def write(self, text: str) -> None:
        """Put another text in the editor.

        Args:
            text: The pattern, valid or not.
        """
        with self.moving:
            self._there()
            self._write(text, rest=0.0)
            self.refresh()

    def bind(self, **values: object) -> None:
        """Give the parameters of the text (`$k`) values, with which it is tried and run."""
        with self.moving:
            self._there()
            self._values = values
            self._write(self.text, rest=0.0)
            self.refresh()

    @property
    def sample(self) -> Stream:
        """The events on which the text is tried."""
        return self._there()

    @property
    def written(self) -> Query | None:
        """The query of the text, whose parameters may have no values; None if there is none."""
        return self._reading.written

    @property
    def tried(self) -> Query | None:
        """The query of the text after its trial; None before, and while the text is wrong."""
        done = self._tried.is_set() and self._reading.query is not None
        return self._good if done else None

    @property
    def chosen(self) -> tuple[int, ...]:
        """The numbers of the events of the chosen match, in the order of the stream."""
        known = None if self._trial is None else self._trial.known
        return known.events_of(self._chosen) if known is not None and known.size else ()

    def choose(self, events: tuple[int, ...]) -> bool:
        """Choose the match of these events; return whether it is among the first matches."""
        known = None if self._trial is None else self._trial.known
        number = None if known is None else known.number_of(events)
        if number is None or self._trial is None or number >= self._trial.size:
            return False
        self._chosen = number
        return True

    def wait(self, seconds: float = 30.0) -> bool:
        """Wait until the text has been tried on the sample; return whether it has."""
        tried = self._tried.wait(seconds)
        # Then the result is on the page, too.
        with self.moving:
            return tried

    def run(self) -> int:
        """Count the matches in the whole stream and wait for the result.

        Ctrl-C, and the button, stop it.

        Raises:
            PatternError: The text is wrong.
            CepkitError: The pattern cannot be run.
        """
        with self.moving:
            running = self._start()
        try:
            while not running.wait(0.1):
                pass
        except KeyboardInterrupt:
            running.stop()
            raise
        if running.error is not None:
            raise running.error
        assert running.count is not None
        return running.count

    def stop(self) -> None:
        """Stop the run over the whole stream."""
        if self._running is not None:
            self._running.stop()

    def as_code(self, stream: str = "stream") -> str:
        """Return the cell that finds the matches.

        Args:
            stream: The name of the variable with the stream.
        """
        text = self._reading.text.strip("\n")
        quoted = f'"""\n{text}\n"""'
        if '"""' in text or "\\" in text or text.endswith('"'):
            quoted = repr(text)
        parameters = () if self.written is None else self.written.parameters
        given = ", ".join(f"{n}={self._values[n]!r}" for n in parameters if n in self._values)
        bound = f".bind({given})" if given else ""
        return (
            f"import cepkit as ck\n\npattern = ck.parse({quoted}){bound}\n"
            f"matches = ck.detect({stream}, pattern)"
        )

    def act(self, name: str, value: Any) -> None:
        """Handle an action of the user."""
        self._there()
        match name:
            case "text":
                text = plain_text(str(value["text"]))
                caret = characters_before(text, int(value["caret"]))
                if text != self._reading.text:
                    self._write(text)
                asked = bool(value.get("asked"))
                self._suggestions = completion(text, caret, self._vocabulary, asked=asked)
                if not asked and self._suggestions.begin == caret and not _opens(text, caret):
                    # Without a request, suggest only after the beginning of a word.
                    self._suggestions = Suggestions()
            case "choose":
                size = 0 if self._trial is None else self._trial.size
                self._chosen = max(0, min(int(value), size - 1))
            case "run":
                self._start()
            case "stop":
                self.stop()
            case _ if self.owner is not None:
                self.owner.act(name, value)
            case _:
                raise ArgumentError(f"there is nothing to do called '{name}'")

    def _there(self) -> Stream:
        if self._sample is None:
            raise ArgumentError("there is nothing to edit", hint="the app says what is wrong")
        return self._sample

    @property
    def query(self) -> Query:
        """The query of the text.

        Raises:
            PatternError: The text is wrong.
        """
        self._there()
        if self._reading.query is None:
            assert self._reading.error is not None
            raise self._reading.error
        return self._reading.query

    def _write(self, text: str, rest: float = _REST) -> None:
        """Take a text, and try it when the user stops typing."""
        self._reading = read(plain_text(text), self._there(), self._values)
        self._suggestions = Suggestions()
        query = self._reading.query
        self._edits += 1
        if self._work is not None:
            self._work.stop()
        self._tried.set()
        if query is None:
            return
        known = self._trial is not None and self._trial.query == query
        self._good = query
        if known:
            return
        self._refused = None
        self._tried.clear()
        edit = self._edits
        self._work = Work(
            lambda: self._try(query, edit, rest), lambda *ended: self._after(edit, *ended)
        )

    def _try(self, query: Query, edit: int, rest: float) -> Trial | None:
        threading.Event().wait(rest)
        if edit != self._edits:
            return None
        patience = _PATIENCE if edit > 1 else _FIRST_PATIENCE
        impatient = threading.Timer(patience, self._halt, (edit,))
        impatient.daemon = True
        impatient.start()
        try:
            return tried(query, self._there(), near=self.owner is not None)
        finally:
            impatient.cancel()

    def _halt(self, edit: int) -> None:
        with self.moving:
            if edit == self._edits and self._work is not None:
                self._work.stop()

    def _after(self, edit: int, trial: Trial | None, error: BaseException | None) -> None:
        with self.moving:
            if edit != self._edits:
                return
            if isinstance(error, CepkitError):
                self._refused = error
            elif isinstance(error, Exception):
                self.error = error
            elif trial is not None:
                self._trial, self._chosen = trial, 0
            self._tried.set()
            self.refresh()

    def _start(self) -> Running:
        query = self.query
        if self._running is not None and self._running.running:
            raise PatternError("a pattern is being run", hint="wait for it, or stop it")
        ended = threading.Event()
        running = self._running = Running(self._stream, query, ended.set)
        threading.Thread(target=self._follow, args=(running, ended), daemon=True).start()
        return running

    def _follow(self, running: Running, ended: threading.Event) -> None:
        """Show progress until the end."""
        # A quick run shows no bar.
        while not ended.wait(_LOOK):
            with self.moving:
                self.refresh()
        running.wait()
        with self.moving:
            self.refresh()

    def __repr__(self) -> str:
        if self._sample is None:
            return f"PatternEditor: {self.error}"
        if self._reading.error is not None:
            return f"PatternEditor: {self._reading.error.found}"
        trial = self._trial
        if trial is None or trial.query != self._good:
            return "PatternEditor: not tried yet"
        if trial.known is None:
            return "PatternEditor: no match was found in time"
        count = count_text(trial.size if trial.count is None else trial.count, "match", "matches")
        more = " and more" if trial.count is None else ""
        return f"PatternEditor: {count}{more} in the first {self._events:,} events"


def _beginning(types: list[str]) -> str:
    """Return an initial pattern: two of the stream's types in sequence."""
    first, second = (type_text(name) for name in (types + types + ["A", "A"])[:2])
    return f"PATTERN SEQ({first} a, {second} b)\nWITHIN 1 minute"


def _opens(text: str, caret: int) -> bool:
    """Return whether only names can follow at the caret."""
    return text[:caret].endswith((".", "(", ", "))
