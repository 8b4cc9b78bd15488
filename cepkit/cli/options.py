"""Options that several verbs take."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from cepkit.cli.durations import DURATION_FORMS
from cepkit.stream.schema import TIES, UNIT_NAMES

CSV_OPTIONS = {
    "sep": "what separates the fields of a CSV file, as ';', or tab; default: a comma",
    "decimal": "the decimal point of a CSV file, as ','",
    "encoding": "the encoding of a CSV file, as latin-1; default: utf-8",
    "time-format": "how times are written, as '%%d.%%m.%%Y %%H:%%M:%%S'; default: ISO 8601",
}
"""The options that say how a file is written, and their help."""


def add(command: argparse._ActionsContainer, option: str, what: str, **settings: Any) -> None:
    """Add an option.

    Args:
        command: A command, or a group of its options.
        option: Its name and what follows it, as "--out FILE"; N is a count. A name alone is a flag,
            unless there are choices.
        what: Its help, with its default.
        **settings: Further ones, by argparse's names.
    """
    name, _, metavar = option.partition(" ")
    if metavar:
        settings["metavar"] = metavar
    elif "choices" not in settings:
        settings["action"] = "store_true"
    if metavar == "N":
        settings["type"] = count
    command.add_argument(name, help=what, **settings)


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
    add(pattern, "--pattern FILE", file, action=action)
    add(pattern, "--pattern-text TEXT", text, action=action)


def stream_options(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the options for events; they are mandatory if `required`."""
    events = command.add_argument_group("events")
    file = (
        "a CSV or JSON (both also gzipped) or Parquet file, or a folder of files of one format; "
        "- for stdin"
    )
    add(events, "--events FILE", file, action=_Once, required=required)
    time = "the time of an event; two columns for its date and its time of day"
    add(events, "--time COLUMN", time, action=_Times, nargs="+", required=required)
    kind = "the type of an event; default: none, and patterns say ANY or DEFINE kinds"
    add(events, "--type COLUMN", kind)
    add(events, "--arrival COLUMN", "the order in which events came; default: that of the rows")
    add(events, "--ties", "what order events of equal time have; default: none", choices=TIES)
    unit = "the unit of numeric times since 1970; filetime is that of Windows"
    add(events, f"--unit {{{','.join((*UNIT_NAMES, 'filetime'))}}}", unit)
    for name, what in CSV_OPTIONS.items():
        metavar = "TEXT" if name == "time-format" else "NAME" if name == "encoding" else "CHAR"
        add(events, f"--{name} {metavar}", what, action=_Once)
    zone = "the zone of times without one, as Europe/Copenhagen; default: UTC"
    add(events, "--timezone ZONE", zone)
    for name, what in (("since", "the first time"), ("until", "the end, which is not in it")):
        end = f"a time range of the events: {what}, as 2024-03-01T10:00:00, or in --unit"
        add(events, f"--{name} TIME", end, action=_Once)
    engine = events.add_mutually_exclusive_group()
    local = (
        "run in this process (the default): the events must fit memory, unless they are Parquet "
        "files in the order of time"
    )
    add(engine, "--local", local)
    add(engine, "--spark", "run on Spark, on all cores: for events that do not fit memory")


def threads_option(command: argparse._ActionsContainer) -> None:
    """Add --threads."""
    what = "use at most N threads; default: all cores, or those of CEPKIT_THREADS"
    add(command, "--threads N", what)


def clock_option(command: argparse._ActionsContainer) -> None:
    """Add --clock-error."""
    what = 'how far the clock of an event may be off, as "20 ms", or the column that says it'
    add(command, "--clock-error DURATION", what)


def plan_options(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add --plan, --planner and --statistics, and return their group."""
    group = command.add_argument_group("how to evaluate it; default: by the cheapest plan")
    way = group.add_mutually_exclusive_group()
    add(way, "--plan ORDER", 'the order of the variables, as "c,b,a"')
    add(way, "--planner NAME", "the plan of this planner; `cepkit plan --help` lists them")
    statistics_option(group)
    return group


def statistics_option(command: argparse._ActionsContainer) -> None:
    """Add --statistics."""
    what = "a file from `cepkit profile --json FILE`, instead of profiling"
    add(command, "--statistics FILE", what)


def output_options(command: argparse.ArgumentParser, *, out: str, json: str) -> None:
    """Add --out, --json and --overwrite, in a group of their own.

    Args:
        out: The kinds of files that --out writes.
        json: The content of --json.
    """
    output = command.add_argument_group("output")
    out_option(output, out)
    json_option(output, json)


def out_option(command: argparse._ActionsContainer, what: str) -> None:
    """Add --out, which writes files of the kinds in `what`; `json_option` adds --overwrite."""
    add(command, "--out FILE", f"{what}. Written completely or not at all")


def durations_option(command: argparse._ActionsContainer) -> None:
    """Add --durations."""
    what = (
        "how durations are written in a CSV file: PT90.5S (ISO 8601), or seconds, 90.5; "
        "default: iso"
    )
    add(command, "--durations", what, choices=DURATION_FORMS, default="iso")


def json_option(command: argparse._ActionsContainer, content: str) -> None:
    """Add --json and --overwrite."""
    what = f"write {content} as JSON to a .json file; - for stdout, which then has nothing else"
    add(command, "--json FILE", what)
    overwrite_option(command)


def overwrite_option(command: argparse._ActionsContainer) -> None:
    """Add --overwrite."""
    add(command, "--overwrite", "replace existing files; otherwise they are refused")


def given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return some options of a command line as keyword arguments."""
    return {name: getattr(arguments, name) for name in names}


def refuse_for_several(
    arguments: argparse.Namespace, queries: Mapping[str, object], *options: str
) -> None:
    """Refuse options that apply only to a single pattern, as "clock_error" for --clock-error."""
    for name in options:
        if getattr(arguments, name):
            option = name.removesuffix("_events").replace("_", "-")  # `run` itself is the verb
            arguments.refuse(f"--{option} is for one pattern, and there are {len(queries):,}")


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
