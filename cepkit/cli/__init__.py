"""The command `cepkit`: the verbs for files, from a terminal.

Exit codes: 0 done (also when what reads our output has had enough: ``| head``); 1 an error, in
a line or two; 2 the command line is wrong; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from cepkit.cli.parser import parser
from cepkit.cli.terminal import error_text, note, plain_warnings, print_what_the_terminal_lacks
from cepkit.errors import CepkitError

OK, FAILED, INTERRUPTED = 0, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: Of the command line; None for those that the program was started with.

    Returns:
        The exit code.
    """
    print_what_the_terminal_lacks()
    words = sys.argv[1:] if arguments is None else list(arguments)
    command = parser(words)
    if not words:
        command.print_help()
        return OK
    options = command.parse_args(words)
    try:
        with plain_warnings():
            options.run(options)
            # Here, not when Python ends: a reader that has gone is then no longer ours to handle.
            sys.stdout.flush()
    except CepkitError as error:
        note(error_text(error, _file_of(options)))
        return FAILED
    except KeyboardInterrupt:
        note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more at its end, and would complain of the same pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        place = f"'{error.filename}': " if error.filename else ""
        note(f"error: {place}{error.strerror or error}")
        return FAILED
    except Exception as error:  # a bug of ours, or Spark's: two lines for a user, a trace on demand
        if options.traceback:
            raise
        first = next(iter(str(error).strip().splitlines()), "")
        note(f"error: {type(error).__name__}: {first}\nHint: --traceback shows where it comes from")
        return FAILED
    return OK


def _file_of(options: argparse.Namespace) -> str:
    """Return what the pattern of a command line is called."""
    pattern: str | list[str] | None = getattr(options, "pattern", None)
    path = pattern[0] if isinstance(pattern, list) else pattern
    if path is None:
        return "the pattern"
    return f"the pattern of {'standard input' if path == '-' else path}"
