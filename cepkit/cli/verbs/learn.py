"""The verb `learn`: patterns that announce incidents."""

from __future__ import annotations

import argparse

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream
from cepkit.cli.output import check_targets, records, write_frame, write_json
from cepkit.cli.terminal import run_with_progress, say
from cepkit.learning.result import Learned


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Propose patterns that announce incidents: learned from the earlier incidents, judged on "
        "the later ones. Ctrl-C ends the search, and the best so far are judged."
    )
    opt.stream_options(command)
    group = command.add_argument_group("the incidents")
    group.add_argument(
        "--incidents",
        metavar="FILE",
        required=True,
        help="a CSV or Parquet file with a column `time` and, with --by, one of keys",
    )
    group.add_argument(
        "--within",
        metavar="DURATION",
        default="10 minutes",
        help="how long before an incident an alarm may be; default: %(default)s",
    )
    group.add_argument(
        "--by", metavar="COLUMN", help="the key that events of a match share with the incident"
    )
    group.add_argument("--seed", type=int, default=0, help="that of the sample; default: 0")
    output = command.add_argument_group("output")
    opt.out_option(output, "a .parquet or .csv file with a row for each proposal")
    opt.json_option(output, "the proposals, and what they were judged on")
    command.set_defaults(refuse=command.error)


def run(arguments: argparse.Namespace) -> None:
    """Print or write the proposals."""
    target = check_targets(arguments)
    stream = open_stream(arguments)

    def work() -> Learned:
        return ck.learn(
            stream,
            arguments.incidents,
            within=arguments.within,
            by=arguments.by,
            seed=arguments.seed,
        )

    learned = run_with_progress(work, "learning", on_spark=arguments.spark)
    if arguments.json != "-":
        say(str(learned))
    if target:
        write_frame(arguments, learned.to_pandas(), target)
    if arguments.json:
        before, later = learned.incidents
        data = {
            "proposals": records(learned.to_pandas()),
            "learned_from": before,
            "judged_on": later,
            "split": learned.split.isoformat(),
            "base_rate": learned.chance.share,
        }
        write_json(arguments, data)
