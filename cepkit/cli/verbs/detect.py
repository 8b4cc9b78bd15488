"""The verb `detect`: writes the matches of a pattern to a file, or prints the first ones."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from time import perf_counter
from typing import Any

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, order_of, plan_of, read_patterns
from cepkit.cli.output import (
    check_targets,
    explained,
    number_as_data,
    plan_as_data,
    write,
    write_json,
)
from cepkit.cli.rows import first_rows, match_table
from cepkit.cli.several import detect_several
from cepkit.cli.streaming import detect_in_folder, streaming_options
from cepkit.cli.terminal import run_with_progress, say, seconds
from cepkit.columnar.kleene.limits import MOST_SETS
from cepkit.pattern.evaluation.functions import USAGE
from cepkit.pattern.nodes import repeated_in
from cepkit.plan.printer import one_line
from cepkit.sharing.choose import SHARES
from cepkit.tables import count_text, whole

_SHOWN = 10


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Find all matches of a pattern, or of several in one pass. Without --out, print the first "
        "ones and their number; for several patterns, their numbers."
    )
    command.epilog = f"functions of conditions:\n{opt.table_of(USAGE)}"
    opt.pattern_options(command, several=True)
    opt.stream_options(command)
    group = opt.plan_options(command)
    opt.threads_option(group)
    share = "what several patterns may share; default: what is cheapest"
    opt.add(group, "--share", share, choices=SHARES, default="auto")
    output = command.add_argument_group("output")
    out = (
        "a .parquet file with a struct for each variable, or a flat .csv file; with --spark a "
        "folder of such files with that name; for several patterns with a column `pattern`"
    )
    opt.out_option(output, out)
    opt.durations_option(output)
    opt.add(output, "--limit N", "stop after N matches of a pattern")
    sets = (
        "with KL: every set of events makes a match, or only the largest set for each choice of "
        "the other events"
    )
    opt.add(output, "--sets", sets, choices=("every", "maximal"), default="every")
    opt.add(output, "--sample N", "give N matches at random, of all")
    opt.add(output, "--seed N", "of --sample", default=0)
    opt.clock_option(output)
    steps = "print the expected and the actual work of each step, over the whole stream"
    opt.add(output, "--explain", steps)
    content = (
        "the number and the plan, for several patterns by name (with --explain also the steps)"
    )
    opt.json_option(output, content)
    streaming_options(command)


def run(arguments: argparse.Namespace) -> None:
    """Find the matches of patterns: write a file, or print the first ones."""
    query = read_patterns(arguments)
    if isinstance(query, dict):
        detect_several(arguments, query)
        return
    if arguments.stream:
        detect_in_folder(arguments, query, order_of(arguments, query))
        return
    target = check_targets(arguments)
    stream = open_stream(arguments)
    query.check_detectable(stream)
    begin = perf_counter()
    given = opt.given(arguments, "limit", "sets", "clock_error", "sample", "seed")
    matches: Any = ck.detect(stream, query, plan_of(arguments, query, stream), **given)
    plan = matches.plan

    def work() -> tuple[list[dict[str, Any]], int]:
        if target:
            return [], write(matches, target, **opt.given(arguments, "overwrite", "durations"))
        printed = matches
        if repeated_in(query.structure):
            # The first sets can be shown even if all would be too many.
            most = _SHOWN if arguments.limit is None else min(_SHOWN, arguments.limit)
            printed = ck.detect(stream, query, plan, limit=most, sets=arguments.sets)
        return first_rows(printed, _SHOWN), matches.count()

    rows, number = run_with_progress(work, "detecting", on_spark=arguments.spark)
    elapsed = perf_counter() - begin
    if arguments.json != "-":
        if rows:
            say(match_table(rows, query, stream.schema))
            if number > len(rows):
                all_of_them = "--out FILE writes them all"
                if repeated_in(query.structure) and number > MOST_SETS:
                    all_of_them = "--sets maximal finds the largest sets alone"
                say(f"... and {whole(number - len(rows))} more; {all_of_them}")
            say()
        if arguments.clock_error is not None:
            say("{certain:,} certain, {possible:,} possible".format(**matches.counts()))
        limited = " (stopped there: --limit)" if number == arguments.limit else ""
        where = f", written to {target}" if target else ""
        say(f"{count_text(number, 'match', 'matches')}{limited}{where} in {seconds(elapsed)}")
        say(f"plan: {one_line(plan)} ({plan.planner})")
    explanation = explained(arguments, matches)
    if arguments.json:
        data = {
            "matches": number_as_data(number),
            "out": str(target) if target else None,
            "seconds": elapsed,
            "plan": plan_as_data(plan),
        }
        if explanation is not None:
            data["steps"] = [
                {name: number_as_data(value) for name, value in asdict(step).items()}
                for step in explanation.steps
            ]
        write_json(arguments, data)
