"""The command `cepkit`: the verbs for files, from a terminal.

Exit codes: 0 done (also when what reads our output has had enough: ``| head``); 1 an error, told
in a line or two; 2 the command line is wrong; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cepkit.cli.arguments import parser
from cepkit.cli.terminal import plain_warnings, print_what_the_terminal_lacks, tell
from cepkit.errors import CepkitError, PatternError

OK, FAILED, INTERRUPTED = 0, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: Of the command line; None for those that the program was started with.

    Returns:
        The exit code.
    """
    print_what_the_terminal_lacks()
    given = parser().parse_args(arguments)
    try:
        with plain_warnings():
            given.run(given)
            # Here, not when Python ends: a reader that has gone is then no longer ours to handle.
            sys.stdout.flush()
    except CepkitError as error:
        tell(_message(error, getattr(given, "pattern", None)))
        return FAILED
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more at its end, and would complain of the same pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        place = f"'{error.filename}': " if error.filename else ""
        tell(f"error: {place}{error.strerror or error}")
        return FAILED
    except Exception as error:  # a bug of ours, or Spark's: a user is told, a developer may look
        if given.traceback:
            raise
        first = next(iter(str(error).strip().splitlines()), "")
        tell(f"error: {type(error).__name__}: {first}\nHint: --traceback shows where it comes from")
        return FAILED
    return OK


def _message(error: CepkitError, pattern_file: str | None) -> str:
    if isinstance(error, PatternError) and error.span is not None:
        where = "standard input" if pattern_file == "-" else pattern_file
        return f"error in the pattern{f' of {where}' if where else ''}, {error}"
    return f"error: {error}"
