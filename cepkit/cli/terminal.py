"""Output to a terminal: results on stdout; warnings, progress and errors on stderr."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator
from time import perf_counter
from typing import TypeVar

from cepkit.errors import CepkitError, PatternError

Result = TypeVar("Result")

_PATIENCE = 2.0  # seconds without output after which to show progress


# Names and values from a file must not control the terminal.
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
    """Print a question mark for characters that the terminal lacks, instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


_CALL = re.compile(r"\b\w+\(\.\.\., ([^()]*)\)")
_ARGUMENT = re.compile(r"(?<![\w.\"'])([a-z_]+)=(?!=)(True\b| )?")


def with_options(text: str, names: Collection[str]) -> str:
    """Return a hint for Python as one for the command line: `--unit 's'` for `unit='s'`.

    Args:
        names: The arguments that are options of the command.
    """

    def option(argument: re.Match[str]) -> str:
        name, behind = argument.groups()
        shown = f"--{name.replace('_', '-')}" + ("" if behind == "True" else " ")
        return shown if name in names else argument[0]

    def call(call: re.Match[str]) -> str:
        inside = _ARGUMENT.sub(option, call[1])
        return call[0] if inside == call[1] else inside

    return _ARGUMENT.sub(option, _CALL.sub(call, text)).rstrip()


def error_text(error: CepkitError, pattern: str, names: Collection[str] = ()) -> str:
    """Return the message of an error.

    Args:
        pattern: The name of the pattern, if the error has none.
        names: As for `with_options`.
    """
    for part in ("expected", "hint"):
        if text := getattr(error, part):
            setattr(error, part, with_options(text, names))
    if not isinstance(error, PatternError) or error.span is None:
        return f"error: {error}"
    error.about = error.about or pattern
    return f"error in {error}"


@contextlib.contextmanager
def plain_warnings(names: Collection[str]) -> Iterator[None]:
    """Show each warning about a stream or a pattern once; hide other warnings.

    Args:
        names: As for `with_options`.
    """
    from cepkit.stream.warnings import StreamWarning  # imports NumPy, which `--help` does not need

    texts: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        text = str(message)
        # Users who enable Python's warnings (-W, PYTHONWARNINGS) get all of them.
        if text not in texts and (issubclass(category, StreamWarning) or sys.warnoptions):
            texts.add(text)
            note(f"warning: {with_options(text, names)}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", StreamWarning)
        warnings.showwarning = show  # set back by catch_warnings
        yield


@contextlib.contextmanager
def quiet_streams() -> Iterator[None]:
    """Suppress warnings about a stream: the next step repeats them with more detail."""
    from cepkit.stream.warnings import StreamWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)
        yield


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show the elapsed time of long work, on a terminal only.

    Args:
        what: The name of the work, as "detecting".
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
        sys.stderr.write("\r\x1b[K")  # remove the line when the work ends
        sys.stderr.flush()


def run_with_progress(action: Callable[[], Result], what: str, *, on_spark: bool) -> Result:
    """Run long work with progress and return its result; Ctrl-C also ends its Spark jobs.

    Args:
        what: The name of the work, as "detecting".
        on_spark: Whether it starts Spark jobs.
    """
    if on_spark:
        from cepkit.spark.session import progress

        return progress.run_with_progress(action, what)
    with working(what):
        return action()


def seconds(duration: float) -> str:
    """Return a readable duration: "0.3 s", "12 s", "2 min 5 s"."""
    if duration < 10:
        return f"{duration:.1f} s"
    if duration < 60:
        return f"{duration:.0f} s"
    return f"{int(duration // 60)} min {int(duration % 60)} s"
