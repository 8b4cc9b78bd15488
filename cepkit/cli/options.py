"""Options that several verbs take."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from cepkit.cli.durations import DURATION_FORMS
from cepkit.stream.schema import TIES, UNIT_NAMES

CSV_OPTIONS = {
    "sep": "what separates the fields of a CSV file, as ';', or tab; default: a comma",
    "decimal": "the decimal point of a CSV file, as ','",
    "encoding": "the encoding of a CSV file, as latin-1; default: utf-8",
    "time-format": "how times are written, as '%%d.%%m.%%Y %%H:%%M:%%S'; default: ISO 8601",
}
"""The options that say how a file is written, and their help."""


def pattern_options(
    command: argparse.ArgumentParser, *, several: bool = False, required: bool = True
) -> None:
    """Add --pattern and --pattern-text."""
    group = command.add_argument_group("pattern")
    pattern = group.add_mutually_exclusive_group(required=required)
    file, text = "a file with the pattern; - for stdin", "the pattern itself"
    if several:
        file += "; for several patterns a folder of .cep files, or repeat the option"
        text += "; repeat it for several patterns"
    action = "append" if several else _Once
    pattern.add_argument("--pattern", metavar="FILE", action=action, help=file)
    pattern.add_argument("--pattern-text", metavar="TEXT", action=action, help=text)


def stream_options(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the options for events; they are mandatory if `required`."""
    events = command.add_argument_group("events")
    events.add_argument(
        "--events",
        metavar="FILE",
        action=_Once,
        required=required,
        help="a CSV or JSON (both also gzipped) or Parquet file, or a folder of files of one"
        " format; - for stdin",
    )
    events.add_argument(
        "--time",
        metavar="COLUMN",
        action=_Times,
        nargs="+",
        required=required,
        help="the time of an event; two columns for its date and its time of day",
    )
    events.add_argument(
        "--type",
        metavar="COLUMN",
        help="the type of an event; default: none, and patterns say ANY or DEFINE kinds",
    )
    events.add_argument(
        "--arrival",
        metavar="COLUMN",
        help="the order in which events came; default: that of the rows",
    )
    events.add_argument(
        "--ties",
        choices=TIES,
        help="what order events of equal time have; default: none",
    )
    events.add_argument(
        "--unit",
        metavar=f"{{{','.join((*UNIT_NAMES, 'filetime'))}}}",
        help="the unit of numeric times since 1970; filetime is that of Windows",
    )
    for name, what in CSV_OPTIONS.items():
        metavar = "TEXT" if name == "time-format" else "NAME" if name == "encoding" else "CHAR"
        events.add_argument(f"--{name}", metavar=metavar, action=_Once, help=what)
    events.add_argument(
        "--timezone",
        metavar="ZONE",
        help="the zone of times without one, as Europe/Copenhagen; default: UTC",
    )
    for name, what in (("since", "the first time"), ("until", "the end, which is not in it")):
        events.add_argument(
            f"--{name}",
            metavar="TIME",
            action=_Once,
            help=f"a time range of the events: {what}, as 2024-03-01T10:00:00, or in --unit",
        )
    engine = events.add_mutually_exclusive_group()
    engine.add_argument(
        "--local",
        action="store_true",
        help="run in this process (the default): the events must fit memory, unless they are"
        " Parquet files in the order of time",
    )
    engine.add_argument(
        "--spark",
        action="store_true",
        help="run on Spark, on all cores: for events that do not fit memory",
    )


def threads_option(command: argparse._ActionsContainer) -> None:
    """Add --threads."""
    command.add_argument(
        "--threads",
        type=count,
        metavar="N",
        help="use at most N threads; default: all cores, or those of CEPKIT_THREADS",
    )


def clock_option(command: argparse._ActionsContainer) -> None:
    """Add --clock-error."""
    command.add_argument(
        "--clock-error",
        metavar="DURATION",
        help='how far the clock of an event may be off, as "20 ms", or the column that says it',
    )


def plan_options(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add --plan, --planner and --statistics, and return their group."""
    group = command.add_argument_group("how to evaluate it; default: by the cheapest plan")
    way = group.add_mutually_exclusive_group()
    way.add_argument("--plan", metavar="ORDER", help='the order of the variables, as "c,b,a"')
    way.add_argument(
        "--planner",
        metavar="NAME",
        help="the plan of this planner; `cepkit plan --help` lists them",
    )
    statistics_option(group)
    return group


def statistics_option(command: argparse._ActionsContainer) -> None:
    """Add --statistics."""
    command.add_argument(
        "--statistics",
        metavar="FILE",
        help="a file from `cepkit profile --json FILE`, instead of profiling",
    )


def out_option(command: argparse._ActionsContainer, description: str) -> None:
    """Add --out; `json_option` adds --overwrite.

    Args:
        description: The kinds of files that can be written.
    """
    command.add_argument(
        "--out", metavar="FILE", help=f"{description}. Written completely or not at all"
    )


def durations_option(command: argparse._ActionsContainer) -> None:
    """Add --durations."""
    command.add_argument(
        "--durations",
        choices=DURATION_FORMS,
        default="iso",
        help="how durations are written in a CSV file: PT90.5S (ISO 8601), or seconds, 90.5;"
        " default: iso",
    )


def json_option(command: argparse._ActionsContainer, what: str) -> None:
    """Add --json and --overwrite; `what` names the content of --json."""
    command.add_argument(
        "--json",
        metavar="FILE",
        help=f"write {what} as JSON to a .json file; - for stdout, which then has nothing else",
    )
    overwrite_option(command)


def overwrite_option(command: argparse._ActionsContainer) -> None:
    """Add --overwrite."""
    command.add_argument(
        "--overwrite",
        action="store_true",
        help="replace existing files; otherwise they are refused",
    )


def count(text: str) -> int:
    """Parse the count of an option, for argparse."""
    quoted = text if len(text) <= 40 else f"{text[:37]}..."
    try:
        number = int(text.replace("_", ""))
    except ValueError:  # also of thousands of digits
        raise argparse.ArgumentTypeError(f"'{quoted}' is not a whole number below 2^63") from None
    if number < 0:
        raise argparse.ArgumentTypeError(f"{quoted} is negative")
    if number >= 2**63:
        raise argparse.ArgumentTypeError(f"{quoted} does not fit into 64 bits")
    return number


def table_of(help_by_name: Mapping[str, str]) -> str:
    """Return a table of names with their help, for `--help`."""
    width = max(map(len, help_by_name))
    return "\n".join(f"  {name:<{width}}  {line}" for name, line in help_by_name.items())


class _Times(argparse.Action):
    """Stores the name of one column, or those of two."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        assert isinstance(values, list)
        if len(values) > 2:
            parser.error(f"{option_string} takes one column, or two: a date and a time of day")
        setattr(namespace, self.dest, tuple(values) if len(values) == 2 else values[0])


class _Once(argparse.Action):
    """Stores a value, and refuses a second one instead of replacing the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            parser.error(f"{option_string} is given twice: a command takes one")
        setattr(namespace, self.dest, values)
