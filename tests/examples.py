"""The examples in the docstrings of public functions, and their execution."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import cepkit
import cepkit_widgets
from cepkit.pattern import builder, printer
from cepkit.pattern.parsing import parser
from cepkit.pattern.query import Query
from cepkit.sharing import pattern_graph
from cepkit.stream import clicks, generators
from cepkit.stream.stream import Stream
from cepkit.tracing import Trace

ON_SPARK = frozenset({"get_session", "StreamFrame.run_to_end", "StreamFrame.watch", "WatchWidget"})
"""The names that need a session; their examples run in tests/spark."""

_OPTIONS = doctest.ELLIPSIS


def verbs() -> Mapping[str, Any]:
    """Return the public functions and classes, by name."""
    public = {
        **{name: getattr(cepkit, name) for name in cepkit.__all__},
        **{name: getattr(cepkit_widgets, name) for name in cepkit_widgets.__all__},
        **{
            name: value
            for module in (generators, clicks)
            for name, value in vars(module).items()
            if name.endswith("_events") and not name.startswith("_")
        },
    }
    return {name: value for name, value in public.items() if not inspect.ismodule(value)}


def with_examples() -> Mapping[str, Any]:
    """Return the verbs, and other public functions and classes with examples, by name."""
    built = {f"builder.{name}": getattr(builder, name) for name in builder.__all__}
    return {
        **verbs(),
        "Query.check_detectable": Query.check_detectable,
        "Stream.replay": Stream.replay,
        "sharing.pattern_graph": pattern_graph,
        "tracing.Trace": Trace,
        "printer.to_text": printer.to_text,
        "parser.parse": parser.parse,
        **{name: value for name, value in built.items() if ">>>" in (value.__doc__ or "")},
        **_of_streaming_results(),
    }


def _of_streaming_results() -> Mapping[str, Any]:
    if find_spec("pyspark") is None:
        return {}
    from cepkit.spark.streaming.result import StreamFrame

    return {f"StreamFrame.{name}": getattr(StreamFrame, name) for name in ("run_to_end", "watch")}


def run(name: str, value: Any) -> str:
    """Run the examples of a docstring and return the failures; empty for none."""
    text = inspect.getdoc(value) or ""
    test = doctest.DocTestParser().get_doctest(text, _names(name), name, None, 0)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=_OPTIONS).run(test, out=report.append)
    return "".join(report)


def _names(name: str) -> dict[str, Any]:
    """Return the names that an example may use without an import: those of its module."""
    home = {"builder": builder, "printer": printer, "parser": parser}.get(name.partition(".")[0])
    return {} if home is None else dict(vars(home))
