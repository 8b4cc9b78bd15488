"""The verb `learn`: patterns that announce incidents."""

from __future__ import annotations

import argparse

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream
from cepkit.cli.output import check_targets, records, report
from cepkit.cli.terminal import run_with_progress
from cepkit.learning.result import Learned


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Propose patterns that announce incidents: learned from the earlier incidents, judged on "
        "the later ones. Ctrl-C ends the search, and the best so far are judged."
    )
    opt.stream_options(command)
    group = command.add_argument_group("the incidents")
    incidents = "a CSV or Parquet file with a column `time` and, with --by, one of keys"
    opt.add(group, "--incidents FILE", incidents, required=True)
    within = "how long before an incident an alarm may be; default: %(default)s"
    opt.add(group, "--within DURATION", within, default="10 minutes")
    opt.add(group, "--by COLUMN", "the key that events of a match share with the incident")
    opt.add(group, "--seed SEED", "that of the sample; default: 0", type=int, default=0)
    out = "a .parquet or .csv file with a row for each proposal"
    opt.output_options(command, out=out, json="the proposals, and what they were judged on")


def run(arguments: argparse.Namespace) -> None:
    """Print or write the proposals."""
    target = check_targets(arguments)
    stream = open_stream(arguments)

    def work() -> Learned:
        given = opt.given(arguments, "within", "by", "seed")
        return ck.learn(stream, arguments.incidents, **given)

    learned = run_with_progress(work, "learning", on_spark=arguments.spark)
    proposals, (before, later) = learned.to_pandas(), learned.incidents
    data = {
        "proposals": records(proposals),
        "learned_from": before,
        "judged_on": later,
        "split": learned.split.isoformat(),
        "base_rate": learned.chance.share,
    }
    report(arguments, learned, proposals, target, data)
