"""Output to a terminal: results on stdout; warnings, progress and errors on stderr."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TypeVar

from cepkit.errors import CepkitError, PatternError

Result = TypeVar("Result")

_PATIENCE = 2.0  # seconds after which one wants to know that something is going on


# What comes from a file - a name, a value - must not steer the terminal.
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}")
del _CONTROLS[ord("\n")], _CONTROLS[ord("\t")]


def say(text: str = "") -> None:
    """Write a line of the result."""
    sys.stdout.write(f"{text.translate(_CONTROLS)}\n")


def note(text: str) -> None:
    """Write a line that is not part of the result."""
    sys.stderr.write(f"{text.translate(_CONTROLS)}\n")
    sys.stderr.flush()


def print_what_the_terminal_lacks() -> None:
    """Let a terminal without our arrows show a question mark, rather than end in an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def error_text(error: CepkitError, pattern: str) -> str:
    """Return what is said of an error.

    Args:
        pattern: What the pattern is called, if the error does not know.
    """
    if not isinstance(error, PatternError) or error.span is None:
        return f"error: {error}"
    error.about = error.about or pattern
    return f"error in {error}"


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Show each warning about a stream once, as one line; keep others' to themselves."""
    from cepkit.stream.warnings import StreamWarning  # brings NumPy: `--help` does without

    texts: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        text = str(message)
        # Who asks for Python's warnings (-W, PYTHONWARNINGS) gets them all.
        if text not in texts and (issubclass(category, StreamWarning) or sys.warnoptions):
            texts.add(text)
            note(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", StreamWarning)
        warnings.showwarning = show  # set back by catch_warnings
        yield


@contextlib.contextmanager
def quiet_streams() -> Iterator[None]:
    """Leave out what a stream is warned of: the next step says it again, and better."""
    from cepkit.stream.warnings import StreamWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)
        yield


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that long work goes on, and for how long; nowhere else.

    Args:
        what: What is being done, as "detecting".
    """
    if not sys.stderr.isatty():
        yield
        return
    finished = threading.Event()

    def tick() -> None:
        begin = perf_counter()
        pause = _PATIENCE
        while not finished.wait(pause):
            pause = 0.5
            sys.stderr.write(f"\r{what} ... {perf_counter() - begin:.0f} s ")
            sys.stderr.flush()

    clock = threading.Thread(target=tick, daemon=True)
    clock.start()
    try:
        yield
    finally:
        finished.set()
        clock.join()
        sys.stderr.write("\r\x1b[K")  # the line is gone when the work is
        sys.stderr.flush()


def run_with_progress(action: Callable[[], Result], what: str, *, on_spark: bool) -> Result:
    """Return what long work returns, showing that it goes on; Ctrl-C ends it on Spark as well.

    Args:
        action: The work.
        what: What is being done, as "detecting".
        on_spark: Whether it starts Spark jobs.
    """
    if on_spark:
        from cepkit.spark.session import progress

        return progress.run_with_progress(action, what)
    with working(what):
        return action()


def seconds(duration: float) -> str:
    """Return a duration as people say it: "0.3 s", "12 s", "2 min 5 s"."""
    if duration < 10:
        return f"{duration:.1f} s"
    if duration < 60:
        return f"{duration:.0f} s"
    return f"{int(duration // 60)} min {int(duration % 60)} s"
