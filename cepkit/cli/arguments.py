"""The command line: commands, their options and what `--help` says."""

from __future__ import annotations

import argparse
from typing import NoReturn

import cepkit

_EXAMPLES = """\
examples:
  cepkit demo
  cepkit profile --pattern p.cep --events trades.parquet --time ts --type ticker
  cepkit plan    --pattern p.cep --events trades.parquet --time ts --type ticker
  cepkit detect  --pattern p.cep --events trades.parquet --time ts --type ticker --out found.parquet
  cepkit simulate --pattern p.cep --events trades.csv --time ts --type ticker --html play.html
  cepkit aggregate --pattern q.cep --events clicks.csv --time ts --type action --emit total

exit codes: 0 done, 1 an error (told on stderr), 2 a wrong command line, 130 stopped by Ctrl-C
"""


class _Once(argparse.Action):
    """Keeps a value, and refuses a second one instead of forgetting the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            parser.error(f"{option_string} stands twice: a command takes one")
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """Points at --help instead of printing the whole usage: an error fits two lines."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\nHint: {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser; `run` of what it parses is the command."""
    top = _Parser(
        prog="cepkit",
        description="Complex event processing: patterns of events in files, found locally or on "
        "Spark.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"cepkit {cepkit.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    _demo(commands)
    _profile(commands)
    _plan(commands)
    _detect(commands)
    _simulate(commands)
    _aggregate(commands)
    for command in commands.choices.values():
        command.add_argument(
            "--traceback", action="store_true", help="on an unexpected error, show Python's trace"
        )
    return top


def _demo(commands: argparse._SubParsersAction[_Parser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="the whole job on made-up stock trades, explained step by step",
        description="Generate stock trades, profile them on Spark, compare plans, detect a "
        "pattern of three trades on Spark and write a report.",
    )
    demo.add_argument(
        "--events", type=_count, default=200_000, metavar="N", help="200000 if absent"
    )
    demo.add_argument("--seed", type=int, default=7, help="of the generator; 7 if absent")
    demo.add_argument(
        "--report",
        metavar="FILE",
        default="out/cepkit-demo.html",
        help="where the HTML report goes; %(default)s if absent",
    )
    demo.set_defaults(run=_run_demo)


def _profile(commands: argparse._SubParsersAction[_Parser]) -> None:
    profile = commands.add_parser(
        "profile",
        help="measure the rates and selectivities that plans depend on",
        description="Measure arrival rates and selectivities. --json saves them; `plan` and "
        "`detect` read them again by --statistics.",
    )
    _pattern_options(profile)
    _stream_options(profile)
    _json_option(profile, "the statistics")
    profile.set_defaults(run=_run_profile)


def _plan(commands: argparse._SubParsersAction[_Parser]) -> None:
    plan = commands.add_parser(
        "plan",
        help="compare the plans that the planners find, and choose one",
        description="Compare plans by their expected cost. Needs a file of events to profile, or "
        "--statistics.",
    )
    _pattern_options(plan)
    _stream_options(plan, required=False)
    _statistics_option(plan)
    plan.add_argument("--planner", metavar="NAME", help="choose this planner's plan; else the best")
    plan.add_argument(
        "--cost",
        metavar="NAME",
        default="partial-matches",
        help="what makes one plan better than another: partial-matches (if absent), latency, or "
        "work: what the engine has to look at and to write",
    )
    plan.add_argument(
        "--run",
        dest="run_events",
        metavar="N",
        type=_count,
        nargs="?",
        const=100_000,
        help="run each plan over the first N events as well, 100000 if N is absent",
    )
    _json_option(plan, "the plans")
    plan.set_defaults(run=_run_plan, refuse=plan.error)


def _detect(commands: argparse._SubParsersAction[_Parser]) -> None:
    detect = commands.add_parser(
        "detect",
        help="find the matches of a pattern",
        description="Find all matches of a pattern. Without --out, the first ones and their number "
        "are printed.",
    )
    _pattern_options(detect)
    _stream_options(detect)
    group = detect.add_argument_group(
        "how it is evaluated; by the cheapest plan if nothing is said"
    )
    way = group.add_mutually_exclusive_group()
    way.add_argument("--plan", metavar="ORDER", help='the order of the variables, as "c,b,a"')
    way.add_argument("--planner", metavar="NAME", help="the plan of this planner")
    _statistics_option(group)
    output = detect.add_argument_group("output")
    output.add_argument(
        "--out",
        metavar="FILE",
        help="a .parquet file with a struct for each variable, or a flat .csv file; with --spark a "
        "folder of such files under that name. It appears when it is whole",
    )
    output.add_argument("--overwrite", action="store_true", help="replace --out where it exists")
    output.add_argument("--limit", type=_count, metavar="N", help="stop after N matches")
    output.add_argument(
        "--sets",
        choices=("every", "maximal"),
        default="every",
        help="with KL: every set of events is a match, or for each choice of the others the"
        " largest alone",
    )
    output.add_argument(
        "--explain",
        action="store_true",
        help="print expected and actual work of each step, over the whole stream",
    )
    _json_option(output, "the number and the plan (and with --explain the steps)")
    detect.set_defaults(run=_run_detect)


def _simulate(commands: argparse._SubParsersAction[_Parser]) -> None:
    simulate = commands.add_parser(
        "simulate",
        help="run the published mechanisms event by event, and count what they do",
        description="Run mechanisms event by event. It finds what `detect` finds, far more "
        "slowly: it is for seeing how.",
    )
    _pattern_options(simulate)
    _stream_options(simulate)
    group = simulate.add_argument_group("how")
    group.add_argument(
        "--mechanism",
        metavar="NAME",
        action="append",
        help="eager-nfa, chain-nfa (if nothing is said), tree-nfa or evaluation-tree; more than "
        "once, to compare",
    )
    group.add_argument(
        "--plan", metavar="ORDER", help='the order of the variables, as "c,b,a"; else rare first'
    )
    group.add_argument("--limit", type=_count, metavar="N", help="the first N events alone")
    group.add_argument(
        "--max-steps", type=_count, default=2_000, metavar="N", help="steps to keep; 2000 if absent"
    )
    output = simulate.add_argument_group("output")
    output.add_argument("--html", metavar="FILE", help="a page that plays all of them, offline")
    _json_option(output, "the trace (of the first)")
    simulate.set_defaults(run=_run_simulate)


def _aggregate(commands: argparse._SubParsersAction[_Parser]) -> None:
    aggregate = commands.add_parser(
        "aggregate",
        help="count and add up the matches of a pattern, without finding them where that can be",
        description="Give the aggregates that AGG asks for. Without --out, the first rows and their"
        " number are printed.",
    )
    _pattern_options(aggregate)
    _stream_options(aggregate)
    group = aggregate.add_argument_group("which rows, and how")
    group.add_argument(
        "--emit",
        choices=("trigger", "changes", "new", "total"),
        default="trigger",
        help="rows at each event that can end a match, about the matches live then (the default);"
        " also when matches expire; about those that the event completes; or one of all",
    )
    group.add_argument(
        "--method",
        choices=("auto", "a-seq", "prefix-counters", "window-product", "two-step", "detect"),
        default="auto",
        help="%(default)s if absent; all give the same rows",
    )
    output = aggregate.add_argument_group("output")
    output.add_argument(
        "--out",
        metavar="FILE",
        help="a .parquet or .csv file; with --spark a folder of such files. It appears when it is "
        "whole",
    )
    output.add_argument("--overwrite", action="store_true", help="replace --out where it exists")
    _json_option(output, "the number of rows, the first of them, and the method")
    aggregate.set_defaults(run=_run_aggregate)


def _pattern_options(command: argparse.ArgumentParser) -> None:
    pattern = command.add_argument_group("pattern").add_mutually_exclusive_group(required=True)
    pattern.add_argument(
        "--pattern", metavar="FILE", action=_Once, help="a file with its text; - for stdin"
    )
    pattern.add_argument("--pattern-text", metavar="TEXT", action=_Once, help="the text itself")


def _stream_options(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    events = command.add_argument_group("events")
    events.add_argument(
        "--events",
        metavar="FILE",
        action=_Once,
        required=required,
        help="a CSV (also gzipped) or Parquet file, or a folder of them",
    )
    events.add_argument("--time", metavar="COLUMN", required=required, help="when it happened")
    events.add_argument("--type", metavar="COLUMN", required=required, help="what happened")
    events.add_argument(
        "--arrival", metavar="COLUMN", help="in which order the events came; else that of the rows"
    )
    events.add_argument("--unit", help="of numeric times since 1970: s, ms, us, ns, min, h, d")
    events.add_argument(
        "--timezone", metavar="ZONE", help="of times without one, as Europe/Copenhagen; else UTC"
    )
    engine = events.add_mutually_exclusive_group()
    engine.add_argument(
        "--local",
        action="store_true",
        help="run in this process (the default): the events must fit memory",
    )
    engine.add_argument(
        "--spark", action="store_true", help="run on Spark: for more than fits, on all cores"
    )


def _statistics_option(command: argparse._ActionsContainer) -> None:
    command.add_argument(
        "--statistics", metavar="FILE", help="of `cepkit profile --json FILE`, instead of profiling"
    )


def _json_option(command: argparse._ActionsContainer, what: str) -> None:
    command.add_argument(
        "--json", metavar="FILE", help=f"write {what} as JSON; - for stdout, and nothing else there"
    )


def _count(text: str) -> int:
    try:
        number = int(text.replace("_", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number") from None
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is negative")
    return number


# Loaded when they run: `--help` answers at once.


def _run_demo(given: argparse.Namespace) -> None:
    from cepkit.cli.demo import demo

    demo(given.events, seed=given.seed, report=given.report)


def _run_profile(given: argparse.Namespace) -> None:
    from cepkit.cli import commands

    commands.profile(given)


def _run_plan(given: argparse.Namespace) -> None:
    from cepkit.cli import commands

    missing = [f"--{name}" for name in ("events", "time", "type") if getattr(given, name) is None]
    if missing and not given.statistics:
        given.refuse(f"nothing to plan by: {', '.join(missing)} missing, or --statistics")
    if missing and given.run_events is not None:
        given.refuse(f"nothing to run plans over: {', '.join(missing)} missing")
    if given.run_events == 0:
        given.refuse("--run 0: plans need an event or more")
    commands.plan(given)


def _run_detect(given: argparse.Namespace) -> None:
    from cepkit.cli import commands

    commands.detect(given)


def _run_simulate(given: argparse.Namespace) -> None:
    from cepkit.cli import simulation

    simulation.simulate(given)


def _run_aggregate(given: argparse.Namespace) -> None:
    from cepkit.cli import aggregating

    aggregating.aggregate(given)
