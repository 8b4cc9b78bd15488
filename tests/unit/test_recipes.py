"""The recipes of CONTRIBUTING, followed word for word in a copy of the project.

Each writes one file and the entry of one table; all else must pick it up by itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^`([\w/.]+)`[^\n]*:\n\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE)

_PROGRAM = """
import contextlib, io, json, runpy, sys
import cepkit as ck
import pandas as pd
from cepkit.cli import main

def shown(call, *arguments):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            call(*arguments)
        except (ck.CepkitError, SystemExit) as end:
            print(end)
    return text.getvalue()

def command(*arguments):
    return shown(main, arguments)

def taken_in(suite, mark):
    names = runpy.run_path(suite)[mark].args[1]
    return [getattr(one, "name", one) for one in names]

def simulate(mechanism):
    stream = ck.events(ck.sample_stocks(), time="ts", type="ticker")
    text = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 1 minute"
    return ck.simulate(stream, text, mechanism, limit=300)

pattern = ck.parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds")
statistics = ck.Statistics.assumed({"a": 1, "b": 2}, {("a", "b"): 0.5})
runpy.run_path("docs/tables.py", run_name="__main__")
print(json.dumps([%s]))
"""

Answers = Callable[..., list[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the files that the recipes change and of those that read them."""
    for name in ("cepkit", "docs", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def answers(project: Path) -> Answers:
    """Evaluate expressions in the copy, and return their values."""

    def evaluate(*expressions: str) -> list[str]:
        ran = subprocess.run(
            [sys.executable, "-c", _PROGRAM % ", ".join(expressions)],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(project), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not ran.returncode, ran.stderr
        return json.loads(ran.stdout)

    return evaluate


def follow(recipe: str, project: Path) -> None:
    """Follow the section of that name: write the file, and put the lines in the table."""
    section = CONTRIBUTING.split(f"### {recipe}\n")[1].split("\n## ")[0].split("\n### ")[0]
    (file, code), (table, entry) = _BLOCK.findall(section)
    assert not (project / file).exists()
    (project / file).write_text(code, encoding="utf-8")
    lines = (project / table).read_text(encoding="utf-8").splitlines(keepends=True)
    for line in entry.splitlines(keepends=True):
        if line.startswith("from "):  # an import stands with the others
            place = max(i for i, other in enumerate(lines) if other.startswith("from "))
        else:  # an entry is the last of its table
            indent, begin = re.match(r'( *)(\w*["(])', line).groups()
            like = re.compile(rf"{indent}({re.escape(begin)}|\))")
            place = max(i for i, other in enumerate(lines) if like.match(other)) + 1
        lines.insert(place, line)
    (project / table).write_text("".join(lines), encoding="utf-8")


def rows(page: str, project: Path) -> str:
    return (project / page).read_text(encoding="utf-8")


def test_add_a_planner(project: Path, answers: Answers):
    follow("Add a planner", project)
    compared, by_help, error, suite = answers(
        "str(ck.compare_plans(pattern, statistics, ['given-order', 'rare-last']))",
        "command('plan', '--help')",
        "shown(ck.choose_plan, pattern, statistics, 'rare-lost')",
        "taken_in('tests/contracts/test_planners.py', 'PLANNER')",
    )
    assert re.search(r"^rare-last +b → a", compared, re.MULTILINE)
    assert re.search(r"^  rare-last +frequent events first; O\(n log n\)$", by_help, re.MULTILINE)
    assert "dp-tree, rare-last\n" in error
    assert "did you mean 'rare-last'?" in error
    assert "rare-last" in suite
    line = "| `rare-last` | frequent events first; O(n log n) |"
    assert line in rows("docs/plans.md", project)


@pytest.mark.slow
def test_add_a_search_for_shared_plans(project: Path, answers: Answers):
    follow("Add a search for shared plans", project)
    compared, error, suite = answers(
        "str(ck.compare_plans([pattern], statistics, ['backwards'], progress=False))",
        "shown(lambda: ck.choose_plan([pattern], statistics, 'backward'))",
        "taken_in('tests/contracts/test_sharing_searches.py', 'SEARCH')",
    )
    assert re.search(r"^backwards ★? +prefix", compared, re.MULTILINE)
    assert "did you mean 'backwards'?" in error
    assert "backwards" in suite
    assert "| `backwards` | the order of the text" in rows("docs/plans.md", project)


@pytest.mark.slow
def test_add_a_cost_model(project: Path, answers: Answers):
    follow("Add a cost model", project)
    compared, by_help, error, suite = answers(
        "str(ck.compare_plans(pattern, statistics, ['greedy'], cost='combinations'))",
        "command('plan', '--help')",
        "shown(lambda: ck.choose_plan(pattern, statistics, cost='combination'))",
        "taken_in('tests/contracts/test_costs.py', 'MODEL')",
    )
    assert compared.startswith("cost: combinations\n")
    assert re.search(r"^  combinations +combinations of events", by_help, re.MULTILINE)
    assert "work, combinations, or cepkit.costs.Blend" in error
    assert "did you mean 'combinations'?" in error
    assert "combinations" in suite
    assert "| `combinations` | combinations of events" in rows("docs/plans.md", project)


_EVENTS = (
    "ck.events(pd.DataFrame({'ts': pd.to_datetime([1, 2, 3, 4], unit='s'), "
    "'kind': list('AABB'), 'x': [1, 4, 0, 0], 'y': [0, 0, 1.5, None]}), time='ts', type='kind')"
)


def _aggregates(agg: str, options: str) -> str:
    pattern = f"PATTERN SEQ(A a, B b) WITHIN 10 s AGG {agg}"
    return f"ck.aggregate({_EVENTS}, {pattern!r}, {options}).to_pandas().iloc[-1].tolist()"


@pytest.mark.slow
def test_add_a_decision_function(project: Path, answers: Answers):
    follow("Add a decision function", project)
    matches, error, suite = answers(
        f"ck.detect({_EVENTS}, 'PATTERN SEQ(A a, B b) WITHIN 9 s', adapt='busier').count()",
        f"shown(lambda: ck.detect({_EVENTS}, 'PATTERN SEQ(A a, B b) WITHIN 9 s', adapt='busyer'))",
        "taken_in('tests/contracts/test_decisions.py', 'DECISION')",
    )
    assert matches == 4
    assert "did you mean 'busier'?" in error
    assert "busier" in suite
    line = "| `busier` | plans anew when the stream has become twice as busy; O(variables) |"
    assert line in rows("docs/adaptation.md", project)


@pytest.mark.slow
def test_add_an_aggregate(project: Path, answers: Answers):
    follow("Add an aggregate", project)
    agg = "MIDRANGE(a.x), MIDRANGE(b.y)"
    *by_method, text, error, of_text, in_set, several, suite = answers(
        *(
            _aggregates(agg, f"emit='total', method={method!r}")
            for method in ("prefix-counters", "window-product", "detect")
        ),
        "str(ck.parse('PATTERN A a AGG MIDRANGE(a.x)'))",
        "shown(ck.parse, 'PATTERN A a AGG MIDRANG(a.x)')",
        f"shown(ck.aggregate, {_EVENTS}, 'PATTERN A a AGG MIDRANGE(a.kind)')",
        f"ck.detect({_EVENTS}, 'PATTERN KL(A a) WHERE midrange(a.x) = 2.5').count()",
        f"[r.to_pandas().iloc[0, 0] for r in ck.aggregate({_EVENTS}, ["
        "'PATTERN SEQ(A a, B b) WITHIN 9 s AGG MIDRANGE(a.x)', "
        "'PATTERN SEQ(A a, B b, B c) WITHIN 9 s AGG MIDRANGE(a.x)'], "
        "emit='total', share='prefix')]",
        "taken_in('tests/contracts/test_aggregates.py', 'NAME')",
    )
    assert by_method == [[2.5, 1.5]] * 3
    assert "midrange" in suite
    assert "AGG MIDRANGE(a.x)" in text
    assert "STDDEV, MIDRANGE" in error
    assert "did you mean 'MIDRANGE'?" in error
    assert "Expected: numbers" in of_text
    assert in_set == 1
    assert several == [2.5, 2.5]
    line = "| `MIDRANGE` | the middle between the least and the greatest |"
    assert line in rows("docs/pattern-language.md", project)


@pytest.mark.slow
def test_add_a_mechanism(project: Path, answers: Answers):
    follow("Add a mechanism", project)
    trace, matches, by_help, error, suite = answers(
        "str(simulate('last-first'))",
        "len(simulate('eager-nfa').matches)",
        "command('simulate', '--help')",
        "shown(simulate, 'last-fist')",
        "taken_in('tests/contracts/test_mechanisms.py', 'MECHANISM')",
    )
    assert "last-first over 300 events" in trace
    assert matches > 0
    assert re.search(rf"^matches +{matches}$", trace, re.MULTILINE)
    assert re.search(r"^  last-first +lazy: the last event", by_help, re.MULTILINE)
    assert "did you mean 'last-first'?" in error
    assert "last-first" in suite
    assert "| `last-first` | lazy: the last event is" in rows("docs/player.md", project)


@pytest.mark.slow
def test_add_a_figure(project: Path, answers: Answers):
    follow("Add a figure", project)
    drawn, error, suite = answers(
        "ck.draw(simulate('eager-nfa'), of='totals').to_json()",
        "shown(lambda: ck.draw(simulate('eager-nfa'), of='total'))",
        "[options['of'] for _, options in runpy.run_path('tests/unit/figures/hostile.py')"
        "['every_figure']([simulate('eager-nfa')])]",
    )
    (bars,) = json.loads(drawn)["data"]
    assert bars["type"] == "bar"
    assert "evaluations" in bars["x"]
    assert "did you mean 'totals'?" in error
    assert "totals" in suite
    assert "| `totals` | the totals of a trace as bars |" in rows("docs/figures.md", project)


@pytest.mark.slow
def test_add_a_condition_function(project: Path, answers: Answers):
    follow("Add a condition function", project)
    text = "PATTERN SEQ(A a, B b) WHERE CELSIUS(41 - a.x - b.x) < b.x * a.x"
    (project / "numbers.csv").write_text("t,kind,x\n0,A,1\n1,A,3\n2,B,2\n3,B,\n4,B,2.5\n")
    stream = "ck.events('numbers.csv', time='t', type='kind', unit='s')"
    found, simulated, error, by_help, suite = answers(
        f"ck.detect({stream}, {text!r}).count()",
        f"len(ck.simulate({stream}, {text!r}, 'eager-nfa').matches)",
        f"shown(ck.parse, {text.replace('CELSIUS', 'celsus')!r})",
        "command('detect', '--help')",
        "taken_in('tests/contracts/test_functions.py', 'NAME')",
    )
    # 3.3, 2.2, 3.1 and 1.9 degrees; less than 2, 6, 2.5 and 7.5
    assert found == simulated == 2
    assert "corr, celsius, count" in error
    assert "did you mean 'celsius'?" in error
    usage = r"^  celsius\(x\) +x degrees Fahrenheit in degrees Celsius$"
    assert re.search(usage, by_help, re.MULTILINE)
    assert "celsius" in suite
    line = "| `celsius(x)` | x degrees Fahrenheit in degrees Celsius |"
    assert line in rows("docs/pattern-language.md", project)


def test_add_a_command(project: Path, answers: Answers):
    follow("Add a command", project)
    stocks = str(ROOT / "sample_data" / "stocks.csv")
    by_help, own_help, counted, error, suite = answers(
        "command('--help')",
        "command('count-events', '--help')",
        f"command('count-events', '--events', {stocks!r}, '--time', 'ts', '--type', 'ticker')",
        "command('count-event')",
        "taken_in('tests/contracts/test_verbs.py', 'VERB')",
    )
    assert re.search(
        r"^    count-events\s+print how many events a file has$", by_help, re.MULTILINE
    )
    assert "--time COLUMN" in own_help
    assert re.fullmatch(r"\d,\d{3} events\n", counted)
    assert "'count-events'" in error
    assert "count-events" in suite
    line = "| `cepkit count-events` | print how many events a file has |"
    assert line in rows("README.md", project)
