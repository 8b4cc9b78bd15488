"""The parser of the command line, with its verbs and help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import cepkit
from cepkit.cli.verbs import VERBS

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
    """Wraps a paragraph, and leaves several lines as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return super(argparse.RawDescriptionHelpFormatter, self)._fill_text(text, width, indent)


class _Parser(argparse.ArgumentParser):
    """Points at --help instead of printing the whole usage: an error fits two lines."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\nHint: {self.prog} --help\n")


def parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command line; `run` of what it parses is the verb.

    Args:
        arguments: The command line. Only the modules of verbs that stand there are loaded, so that
            `cepkit --help` answers at once.
    """
    top = _Parser(
        prog="cepkit",
        description="Complex event processing: patterns of events in files, found locally or on "
        "Spark.",
        epilog=_EXAMPLES,
        formatter_class=_Formatter,
    )
    top.add_argument("--version", action="version", version=f"cepkit {cepkit.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for verb, line in VERBS.items():
        command = commands.add_parser(verb, help=line, formatter_class=_Formatter)
        if verb in arguments:
            module = import_module(f"cepkit.cli.verbs.{verb.replace('-', '_')}")
            module.options(command)
            command.set_defaults(run=module.run)
        command.add_argument(
            "--traceback", action="store_true", help="on an unexpected error, show Python's trace"
        )
    return top
