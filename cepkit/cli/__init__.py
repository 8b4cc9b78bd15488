"""The command `cepkit`: the verbs for files, from a terminal.

Exit codes: 0 success (also if the reader of the output closes it: ``| head``); 1 an error, in a
line or two; 2 a wrong command line; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NoReturn

import cepkit
from cepkit.cli.terminal import error_text, note, plain_warnings, print_what_the_terminal_lacks
from cepkit.cli.verbs import VERBS
from cepkit.errors import CepkitError, nearest
from cepkit.threads import limited_to

OK, FAILED, INTERRUPTED = 0, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit code.
    """
    print_what_the_terminal_lacks()
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = argparse.Namespace(traceback=False)
    try:
        # Flush here: at Python's exit a closed pipe could no longer be handled.
        try:
            command = parser(words)
            if not words:
                command.print_help()
                return OK
            command.parse_args(words, options)
        finally:
            sys.stdout.flush()
        with plain_warnings(vars(options)), limited_to(getattr(options, "threads", None)):
            options.run(options)
            sys.stdout.flush()
    except CepkitError as error:
        note(error_text(error, _file_of(options), vars(options)))
        return FAILED
    except KeyboardInterrupt:
        note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes again at exit and would complain about the same pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        place = f"'{error.filename}': " if error.filename else ""
        note(f"error: {place}{error.strerror or error}")
        return FAILED
    except Exception as error:  # a bug of ours or Spark's: two lines, a traceback on demand
        if options.traceback:
            raise
        first = next(iter(str(error).strip().splitlines()), "")
        note(f"error: {type(error).__name__}: {first}\nHint: --traceback shows where it comes from")
        return FAILED
    return OK


def _file_of(options: argparse.Namespace) -> str:
    """Return the name of the pattern on a command line."""
    pattern: str | list[str] | None = getattr(options, "pattern", None)
    path = pattern[0] if isinstance(pattern, list) else pattern
    if path is None:
        return "the pattern"
    return f"the pattern of {'standard input' if path == '-' else path}"


_EXAMPLES = """\
examples:
  cepkit demo
  cepkit profile --events trades.parquet --time ts --type ticker
  cepkit check   --pattern p.cep
  cepkit profile --pattern p.cep --events trades.parquet --time ts --type ticker
  cepkit plan    --pattern p.cep --events trades.parquet --time ts --type ticker
  cepkit detect  --pattern p.cep --events trades.parquet --time ts --type ticker --out found.parquet
  cepkit simulate --pattern p.cep --events trades.csv --time ts --type ticker --html play.html
  cepkit aggregate --pattern q.cep --events clicks.csv --time ts --type action --emit total

exit codes: 0 done, 1 an error (on stderr), 2 a wrong command line, 130 stopped by Ctrl-C
"""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Wraps a single paragraph, and keeps several lines unchanged."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return super(argparse.RawDescriptionHelpFormatter, self)._fill_text(text, width, indent)


class _Parser(argparse.ArgumentParser):
    """Points at --help instead of printing the whole usage: an error fits two lines."""

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a command line, and remember its words for errors."""
        self._words = tuple(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        lacks = any(word in message for word in ("--events", "--pattern", "unrecognized"))
        verb = next(iter(self._words), "")
        prog = f"{self.prog} {verb}" if verb in VERBS else self.prog
        near = nearest(verb, VERBS) if message.startswith("argument COMMAND: invalid") else None
        if verb == "sort":  # its files stand alone
            lacks = False
        hint = near or (lacks and _options_for(self._words)) or f"{prog} --help"
        self.exit(2, f"error: {message}\nHint: {hint}\n")


def _options_for(words: Sequence[str]) -> str:
    """Return the options of files and patterns that stand alone on a command line."""
    options = []
    for before, word in pairwise(("", *words)):
        if word.startswith("-") or before.startswith("--"):
            continue
        if word.lstrip().upper().startswith("PATTERN "):
            options.append("--pattern-text 'PATTERN ...'")
        elif word.endswith(".cep"):
            options.append(f"--pattern {word}")
        elif os.path.exists(word):  # noqa: PTH110 (never raises, however long the word is)
            options.append(f"--events {word}")
    return f"write {' '.join(options)}" if options else ""


def parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command line; the parsed `run` is the verb.

    Args:
        arguments: The command line. Only the modules of its verbs are loaded, so that `cepkit
            --help` answers at once.
    """
    top = _Parser(
        prog="cepkit",
        description="Complex event processing: patterns of events in files, found locally or on "
        "Spark.",
        epilog=_EXAMPLES,
        formatter_class=_Formatter,
    )
    top.add_argument("--version", action="version", version=f"cepkit {cepkit.__version__}")
    below = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for verb, line in VERBS.items():
        command = below.add_parser(verb, help=line, formatter_class=_Formatter)
        if verb in arguments:
            module = import_module(f"cepkit.cli.verbs.{verb.replace('-', '_')}")
            module.options(command)
            command.set_defaults(run=module.run, refuse=command.error)
        what = "on an unexpected error, show Python's trace"
        command.add_argument("--traceback", action="store_true", help=what)
    return top


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each verb, all modules loaded."""
    [below] = [
        action
        for action in parser(list(VERBS))._actions  # noqa: SLF001 - argparse has no public way
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
    ]
    return dict(below.choices)
