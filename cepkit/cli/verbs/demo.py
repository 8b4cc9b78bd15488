"""The verb `demo`: all steps on generated stock trades, with a sentence for each."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pa_dataset

import cepkit as ck
from cepkit.cli.options import add, count, overwrite_option
from cepkit.cli.output import OPTION, write
from cepkit.cli.rows import match_table
from cepkit.cli.spark_files import quiet_session
from cepkit.cli.terminal import run_with_progress, say, seconds, working
from cepkit.files import HTML, check_target
from cepkit.plan.printer import one_line
from cepkit.stream.generators import stock_events
from cepkit.tables import count_text, text_table

PATTERN = """\
PATTERN SEQ(MSFT a, INTC b, GOOG c, AAPL d)
WHERE a.price < c.price AND b.volume > d.volume AND c.price < d.price
WITHIN 1 minute
"""

_SHOWN, _IN_REPORT = 5, 100

_REPORT = "out/cepkit-demo.html"
"""The path of the report, replaced at each run."""

_WITHOUT_SPARK = """\
All steps run in this process; pip install 'cepkit[spark]' adds clusters and streams of files.
"""

_HOW_TO_READ = """
Candidates are the pairs that a step looked at, survivors the partial matches that it kept. In the
order of the text, each of the many MSFT events starts partial matches. From the rare AAPL events
backwards there is little to look at. The conditions depend on each other, so the expected numbers
come from a sample of joins, not from a product of selectivities."""


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Generate stock trades, profile them, compare plans, detect a pattern of four trades on "
        "Spark, if it is installed, and write a report."
    )
    add(command, "--events N", "how many; default: 200000", default=200_000)
    add(command, "--seed SEED", "of the generator; default: 7", type=count, default=7)
    report = f"the HTML report; default: {_REPORT}, which is replaced. A missing folder is created"
    add(command, "--report FILE", report)
    overwrite_option(command)


def run(arguments: argparse.Namespace) -> None:
    """Run all steps on generated trades, and describe each of them."""
    events, seed = arguments.events, arguments.seed
    overwrite = arguments.overwrite or arguments.report is None
    page = _report_path(arguments.report or _REPORT, overwrite=overwrite)
    begin = perf_counter()
    steps = _Steps()
    say("cepkit finds patterns in events. This demo runs all steps, from data to matches.\n")
    starting = _in_background(lambda: quiet_session(progress=False)) if _has_spark() else None
    if starting is None:
        say(_WITHOUT_SPARK)
    with steps.step("Events", f"Generate {events:,} stock trades (seed {seed}).") as step:
        table = stock_events(events, seed=seed)
        stream = ck.events(table, time="ts", type="ticker")
        step.say(_first_events(table))
        step.say(_tickers(table))
    with steps.step("Pattern", "Write what to look for: trades at rising prices.") as step:
        query = ck.parse(PATTERN)
        step.say(PATTERN.rstrip())
    with steps.step("Profile", "Measure how often events come and conditions hold.") as step:
        statistics = ck.profile(stream, query)
        step.say(str(statistics))
    with steps.step(
        "Plans", "The order in which events are joined decides how much work there is."
    ) as step:
        ck.compare_plans(query, statistics)  # compiles the planners' loops
        comparison = ck.compare_plans(query, statistics)
        plan = comparison.best
        step.say(str(comparison))
        step.say(f"\nchosen: {one_line(plan)} ({plan.planner})")
    if starting is not None:
        with steps.step(
            "Spark", "A session on the cores of this machine started meanwhile.", waits=True
        ) as step:
            session = starting.result()
            stream = ck.events(session.createDataFrame(table), time="ts", type="ticker")
            step.say(f"Spark {session.version}")
    where = "in this process" if starting is None else "on Spark"
    with (
        tempfile.TemporaryDirectory(prefix="cepkit-demo-") as folder,
        steps.step(
            "Matches", f"Run this plan {where} and write the matches to a Parquet file."
        ) as step,
    ):
        matches: Any = ck.detect(stream, query, plan)

        def write_matches(name: str) -> int:
            return run_with_progress(
                lambda: write(matches, Path(folder, name), overwrite=False),
                "detecting",
                on_spark=starting is not None,
            )

        number = write_matches("matches.parquet")
        elapsed = step.elapsed()
        first = pa_dataset.dataset(Path(folder, "matches.parquet")).head(_IN_REPORT)
        write_matches("again.parquet")
        again = step.elapsed() - elapsed
        step.say(match_table(first.slice(0, _SHOWN).to_pylist(), query, stream.schema))
        if number > _SHOWN:
            step.say(f"... and {number - _SHOWN:,} more")
        loaded = "its loops loaded" if starting is None else "the start of Spark's workers"
        step.say(
            f"\n{count_text(number, 'match', 'matches')} in {seconds(elapsed)}, with {loaded};"
            f"\nagain, after that: {seconds(again)}, {events / again:,.0f} events/s"
        )
    with steps.step(
        "Explain", "Compare the expected work of each step with the actual work."
    ) as step:
        explanation = matches.explain()
        step.say(str(explanation))
        step.say(_HOW_TO_READ)
    with steps.step("Report", "Write all of this, with figures, to one file.") as step:
        from cepkit.figures.report import write_report

        write_report(
            page,
            query=query,
            statistics=statistics,
            comparison=comparison,
            plan=plan,
            explanation=explanation,
            matches_frame=first.to_pandas(),
            facts={
                "events": f"{events:,}",
                "matches": f"{number:,}",
                "detected in": seconds(again),
                "events/s": f"{events / again:,.0f}",
            },
            title="cepkit demo",
            overwrite=overwrite,
        )
        step.say(str(page))
    say(f"Done in {seconds(perf_counter() - begin)}. What to try next:")
    say(_next_steps(page))


@dataclass
class _Step:
    """A step of the demo; its lines are printed at its end."""

    lines: list[str] = field(default_factory=list)
    begin: float = field(default_factory=perf_counter)

    def say(self, text: str) -> None:
        self.lines += text.split("\n")

    def elapsed(self) -> float:
        return perf_counter() - self.begin


class _Steps:
    """The numbered steps, with their times."""

    def __init__(self) -> None:
        self._number = 0

    @contextlib.contextmanager
    def step(self, title: str, sentence: str, *, waits: bool = False) -> Iterator[_Step]:
        """Print the description of a step, and afterwards its result."""
        self._number += 1
        say(f"{self._number}. {title}. {sentence}")
        sys.stdout.flush()
        step = _Step()
        # Spark shows its own progress.
        with working(f"   {title.casefold()}") if waits else contextlib.nullcontext():
            yield step
        for line in step.lines:
            say(f"     {line}".rstrip())
        say(f"     ({seconds(step.elapsed())})\n")
        sys.stdout.flush()


def _has_spark() -> bool:
    return find_spec("pyspark") is not None


def _in_background(work: Callable[[], Any]) -> Future[Any]:
    """Start work in a thread that an interrupt does not wait for."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is needed
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _report_path(report: str, *, overwrite: bool) -> Path:
    """Check the path of the report before half a minute of work."""
    folder = Path(report).expanduser().parent
    folder.mkdir(parents=True, exist_ok=True)
    return check_target(report, HTML, overwrite=overwrite, option=OPTION)


def _first_events(table: pa.Table) -> str:
    rows = table.slice(0, 3).to_pylist()
    cells = [
        [f"{row['ts']:%Y-%m-%d %H:%M:%S.%f}"[:-4], row["ticker"], *map(str, list(row.values())[2:])]
        for row in rows
    ]
    return text_table(table.column_names, cells, left=2) + "\n..."


def _tickers(table: pa.Table) -> str:
    counts = {c["values"]: c["counts"] for c in pc.value_counts(table["ticker"]).to_pylist()}
    counts_text = ", ".join(
        f"{name} {counts.get(name, 0):,}" for name in ("MSFT", "INTC", "GOOG", "AAPL")
    )
    return f"{counts_text}, and other tickers that the pattern does not name"


def _next_steps(report: Path) -> str:
    return f"""\
  open {report} in a browser
  cepkit demo --events 2000000                                        more events
  cepkit detect --help                                                your own file and pattern
  cepkit aggregate --help                                             count matches only
  make lab                                                            notebooks, in a checkout
  docs/pattern-language.md                                            what a pattern can say"""
