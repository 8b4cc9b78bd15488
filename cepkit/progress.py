"""Progress bars, with one rule for Spark jobs and for work in this process.

A bar appears after two seconds if somebody watches. It shows the name of the work, the finished
share if known, and the elapsed time. At the end a terminal removes it, and a notebook keeps one
line with the name and the time.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from html import escape
from time import perf_counter
from typing import Any, Literal, Protocol, Self, TypeVar

Progress = Literal["auto"] | bool
"""True for a bar; False for none; "auto" for one after two seconds if somebody watches."""

PAGE = "CEPKIT_PAGE"
"""The environment variable of a kernel whose page shows progress itself."""
SILENT_SECONDS = 2.0
"""Shorter work shows nothing."""

_LOOK_SECONDS = 0.25


def is_watched() -> bool:
    """Return whether the output goes to a terminal or a notebook, and not to a page of ours."""
    if os.environ.get(PAGE):
        return False
    return _kernel() or bool(getattr(sys.stderr, "isatty", lambda: False)())


def is_shown(progress: Progress) -> bool:
    """Return whether to show a bar."""
    if sys.platform == "emscripten":  # a browser cannot start the thread that draws it
        return False
    return progress is True or (progress == "auto" and is_watched())


def tell(line: str) -> None:
    """Show a line that stays, instead of the bar that is drawn there until its next change."""
    if _kernel():
        _Notebook().keep(line)
    else:
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{clear}{line}\n")
        sys.stderr.flush()


def _kernel() -> bool:
    # An imported ipykernel means nothing: pyspark imports it if it is installed.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class WithProgress:
    """A result whose actions show a bar if they take long.

    Attributes:
        progress: Whether they show a bar: see `cepkit.detect`.
    """

    progress: Progress = "auto"

    def with_progress(self, progress: Progress) -> Self:
        """Set whether actions show a bar; return itself."""
        self.progress = progress
        return self

    def _searched(self) -> float | None:
        """Return the share of events searched so far; None if unknown."""
        return None

    def _working(self, what: str) -> contextlib.AbstractContextManager[Work]:
        """Return a context that shows a bar while rows are found."""
        return showing(what, self.progress, self._searched)


class Work:
    """The current work and its progress; a bar polls it a few times a second.

    Args:
        what: The name of the work, as "counting".
        share: The finished share, or a function that returns it; None if unknown.
    """

    def __init__(self, what: str, share: Callable[[], float | None] | None = None) -> None:
        self.what = what
        self.look = share
        self.changed: Callable[[], None] = lambda: None

    def tell(self, what: str, share: float | None) -> None:
        """Update the name and the share."""
        self.what, self.look = what, lambda: share
        self.changed()

    @property
    def share(self) -> float | None:
        """The finished share, between 0 and 1."""
        share = None if self.look is None else self.look()
        return None if share is None else min(1.0, max(0.0, share))


class _Here(threading.local):
    work: Work | None = None


_here = _Here()
"""The work of this thread that has a bar; nested work has no bar of its own."""


@contextlib.contextmanager
def showing(
    what: str, progress: Progress = "auto", share: Callable[[], float | None] | None = None
) -> Iterator[Work]:
    """Show a bar for some work; inside other work, update that bar instead.

    Args:
        what: The name of the work, as "counting".
        progress: Whether to show a bar.
        share: Returns the finished share; it is called from another thread.
    """
    outer = _here.work
    if outer is not None:
        before = outer.what, outer.look
        outer.what, outer.look = what, share
        try:
            yield outer
        finally:
            outer.what, outer.look = before
        return
    work = _here.work = Work(what, share)
    bar = _Watch(work, 0.0 if progress is True else SILENT_SECONDS) if is_shown(progress) else None
    try:
        yield work
    finally:
        _here.work = None
        if bar is not None:
            bar.end()


_T = TypeVar("_T")


def counted(things: Sequence[_T]) -> Iterator[_T]:
    """Yield things one after the other; the current bar shows how many there were."""
    work, at, size = _here.work, 0, max(1, len(things))
    if work is not None:
        work.look = lambda: at / size
    for thing in things:
        yield thing
        at += 1


class Bar:
    """A bar that shows the current part of the work and its progress.

    Args:
        parts: The number of parts.
        progress: Whether there is a bar at all.
        whole: The name of the whole work, as "comparing plans".
    """

    def __init__(self, parts: int, progress: Progress, whole: str) -> None:
        self._parts, self._done, self._part, self._whole = parts, -1, "", whole
        self._shown = showing(whole, progress)
        self._work: Work | None = None

    def begin(self, part: str) -> None:
        """Begin the next part."""
        self._done += 1
        self._part = part
        self.move(0.0)

    def move(self, share: float) -> None:
        """Update the finished share of the part."""
        if self._work is not None:
            what = f"{self._whole}: {self._part}"
            self._work.tell(what, (self._done + share) / self._parts)

    def __enter__(self) -> Bar:
        self._work = self._shown.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._work is not None:
            self._work.what = self._whole
        self._shown.__exit__(*error)


class _Watch:
    """A thread that shows work until it ends.

    Args:
        silent: Show nothing for this many seconds.
    """

    def __init__(self, work: Work, silent: float) -> None:
        self._work, self._begin, self._drawn = work, perf_counter(), False
        self._place: _Place = _Notebook() if _kernel() else _Terminal()
        self._over, self._lock = threading.Event(), threading.Lock()
        if not silent:
            work.changed = self._draw
        # A notebook shows it below the calling cell, which this thread's context identifies.
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._watch, silent), daemon=True)
        self._thread.start()

    def _watch(self, silent: float) -> None:
        pause = silent or _LOOK_SECONDS
        while not self._over.wait(pause):
            pause = _LOOK_SECONDS
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            self._drawn = True
            self._place.draw(self._work.what, self._work.share, perf_counter() - self._begin)

    def end(self) -> None:
        """Remove the bar; a notebook keeps one line."""
        self._over.set()
        self._thread.join()
        if self._drawn:
            self._place.end(self._work.what, perf_counter() - self._begin)


class _Place(Protocol):
    """The display of a bar."""

    def draw(self, what: str, share: float | None, seconds: float) -> None:
        """Show progress."""

    def end(self, what: str, seconds: float) -> None:
        """Remove the bar."""


def _clock(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:,.0f} s"


class _Terminal:
    """A line of a terminal, removed at the end."""

    def __init__(self) -> None:
        self._bar: Any = None

    def draw(self, what: str, share: float | None, seconds: float) -> None:
        from tqdm import tqdm

        if self._bar is None:
            self._bar = tqdm(total=1.0, leave=False, bar_format="", file=sys.stderr)
        known = "" if share is None else "{percentage:3.0f}%|{bar}| "
        self._bar.bar_format = f"{{desc}}: {known}{_clock(seconds)}"
        self._bar.n = share or 0.0
        self._bar.set_description_str(what)

    def end(self, what: str, seconds: float) -> None:
        del what, seconds
        self._bar.close()


class _Notebook:
    """An output of a notebook's cell; at the end one line of text."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, what: str, share: float | None, seconds: float) -> None:
        done = "" if share is None else f' value="{share:.3f}"'
        far = "" if share is None else f"{share:.0%} "
        bar = f'<progress max="1"{done} aria-label="{escape(what)}"></progress>'
        text = f"{escape(what)} {bar} {far}{_clock(seconds)}"
        plain = f"{what} ... {far}{_clock(seconds)}"
        self._show({"text/plain": plain, "text/html": f'<div class="mathjax_ignore">{text}</div>'})

    def end(self, what: str, seconds: float) -> None:
        self.keep(f"{what}: {_clock(seconds)}")

    def keep(self, line: str) -> None:
        """Show a line of text for good."""
        self._show({"text/plain": line})

    def _show(self, bundle: dict[str, str]) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)
