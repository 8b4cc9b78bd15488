"""`cepkit detect` and `plan` of several patterns: in one pass, under plans that share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import cepkit as ck
from cepkit.cli import options as opt
from cepkit.cli.inputs import open_stream, profiled, saved_statistics
from cepkit.cli.output import (
    check_targets,
    explained,
    number_as_data,
    plans_as_data,
    write,
    write_json,
)
from cepkit.cli.streaming import detect_in_folder
from cepkit.cli.terminal import run_with_progress, say, seconds, working
from cepkit.costs import COSTS
from cepkit.pattern.query import Query
from cepkit.plan.printer import one_line
from cepkit.tables import count_text, text_table, whole


def detect_several(arguments: argparse.Namespace, queries: Mapping[str, Query]) -> None:
    """Find the matches of several patterns: into a file, or print their counts."""
    opt.refuse_for_several(arguments, queries, "plan", "planner", "clock_error", "sample")
    if arguments.stream:
        detect_in_folder(arguments, dict(queries), None)
        return
    target = check_targets(arguments)
    stream = open_stream(arguments)
    plan = None
    if arguments.statistics:
        statistics = saved_statistics(arguments.statistics)
        plan = ck.choose_plan(dict(queries), statistics, share=arguments.share)
    begin = perf_counter()
    given = opt.given(arguments, "share", "limit", "sets")
    matches: Any = ck.detect(stream, dict(queries), plan, **given)

    def work() -> dict[str, int]:
        if target:
            write(matches.together, target, **opt.given(arguments, "overwrite", "durations"))
        counts: dict[str, int] = matches.counts().to_dict()
        return counts

    numbers = run_with_progress(work, "detecting", on_spark=arguments.spark)
    elapsed = perf_counter() - begin
    plans = dict(zip(matches.names, matches.plans, strict=True))
    if arguments.json != "-":
        rows = [(name, one_line(plans[name]), whole(number)) for name, number in numbers.items()]
        where = f", written to {target}" if target else "; --out FILE writes them"
        all_of_them = count_text(sum(numbers.values()), "match", "matches")
        patterns = count_text(len(numbers), "pattern")
        say(text_table(("pattern", "plan", "matches"), rows, left=2))
        say(f"\n{all_of_them} of {patterns} in {seconds(elapsed)}{where}")
    explanation = explained(arguments, matches)
    if arguments.json:
        data: dict[str, Any] = {
            "matches": {name: number_as_data(number) for name, number in numbers.items()},
            "out": str(target) if target else None,
            "seconds": elapsed,
            "plans": plans_as_data(matches.names, matches.plans),
        }
        if explanation is not None:
            data["steps"] = explanation.to_pandas().to_dict("records")
        write_json(arguments, data)


def plan_several(arguments: argparse.Namespace, queries: Mapping[str, Query], cost: str) -> None:
    """Print plans of several patterns that share their common parts."""
    opt.refuse_for_several(arguments, queries, "planner", "run_events", "out")
    COSTS.pick(cost)  # refuse a wrong name before minutes of profiling
    if arguments.statistics:
        statistics = saved_statistics(arguments.statistics)
    else:
        statistics = profiled(open_stream(arguments), dict(queries))
    with working("planning"):
        plan = ck.choose_plan(dict(queries), statistics, cost=cost)
    if arguments.json != "-":
        say(str(plan))
    if arguments.json:
        data = {
            "cost_model": plan.cost_model.name,
            "cost": number_as_data(plan.cost),
            "alone": number_as_data(plan.alone),
            "plans": plans_as_data(plan.names, plan.plans),
            "shared": [
                {"sub_pattern": node.pattern, "patterns": list(node.names)} for node in plan.shared
            ],
        }
        write_json(arguments, data)
