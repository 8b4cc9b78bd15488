"""`cepkit completion`: prints a script that completes commands, options and their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command.

    Attributes:
        names: Its spellings, `--json` or `-h, --help`.
        takes: Whether a value follows.
        values: The allowed values; empty for any value, or a file.
        help: What it is.
    """

    names: tuple[str, ...]
    takes: bool
    values: tuple[str, ...]
    help: str


def options(command: argparse.ArgumentParser) -> None:
    """Add the options of `cepkit completion`."""
    command.description = "Print a script that lets a shell complete the commands of cepkit."
    command.epilog = (
        'bash: eval "$(cepkit completion bash)" in ~/.bashrc\n'
        'zsh:  eval "$(cepkit completion zsh)" in ~/.zshrc, after compinit\n'
        "fish: cepkit completion fish > ~/.config/fish/completions/cepkit.fish"
    )
    command.add_argument("shell", choices=_SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    from cepkit.cli import commands

    known = {verb: tuple(_options_of(parser)) for verb, parser in commands().items()}
    script = _fish(known) if arguments.shell == "fish" else _bash(known, arguments.shell)
    print(script)  # noqa: T201


def _options_of(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to ask
        if action.help == argparse.SUPPRESS:
            continue
        values = tuple(map(str, action.choices or ()))
        # Values that a later check refuses, with a better error, stand where choices would.
        listed = re.fullmatch(r"\{(.*)\}", str(action.metavar or ""))
        values = tuple(listed[1].split(",")) if listed else values
        takes = action.nargs != 0 and bool(action.option_strings)
        line = " ".join((action.help or "").split())
        yield Option(tuple(action.option_strings), takes, values, line)


def _bash(known: Mapping[str, Sequence[Option]], shell: str) -> str:
    lines = ["autoload -U +X bashcompinit && bashcompinit"] if shell == "zsh" else []
    lines += [
        "_cepkit() {",
        '  local cur="${COMP_WORDS[COMP_CWORD]}" words=""',
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    words="{" ".join(known)} --help --version"',
        "  else",
        '    case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in',
    ]
    for verb, some in known.items():
        for option in some:
            if option.takes:
                place = "|".join(f'"{verb} {name}"' for name in option.names)
                # For free values the shell offers files.
                lines.append(f'      {place}) words="{" ".join(option.values)}" ;;')
    lines += ["      *)", '        case "${COMP_WORDS[1]}" in']
    for verb, some in known.items():
        words = [name for option in some for name in option.names]
        words += [value for option in some if not option.names for value in option.values]
        lines.append(f'          {verb}) words="{" ".join(words)}" ;;')
    lines += [
        "        esac ;;",
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        "}",
        "complete -o default -F _cepkit cepkit",
    ]
    return "\n".join(lines)


def _fish(known: Mapping[str, Sequence[Option]]) -> str:
    from cepkit.cli.verbs import VERBS

    lines = []
    for verb, some in known.items():
        lines.append(
            f"complete -c cepkit -n __fish_use_subcommand -f -a {verb} -d {_quoted(VERBS[verb])}"
        )
        where = f"complete -c cepkit -n '__fish_seen_subcommand_from {verb}'"
        for option in some:
            names = [
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            ]
            values = f" -a '{' '.join(option.values)}'" if option.values else ""
            takes = " -r" if option.takes and not option.values else " -x" if option.takes else ""
            lines.append(f"{' '.join([where, *names])}{takes}{values} -d {_quoted(option.help)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
