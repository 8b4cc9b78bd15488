"""Old names and arguments of the front door: they work for one release, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import cepkit as ck


def _check_detectable(stream: Any, pattern: Any) -> None:
    from cepkit.pattern.builder import as_query

    as_query(pattern).check_detectable(stream)


OLD_NAMES: Mapping[str, tuple[str, Callable[..., Any] | str]] = {
    "Trace": ("cepkit.tracing.Trace", "cepkit.tracing"),
    "aggregate_trace": (
        'ck.simulate(stream, pattern, "prefix-counters", pieces)',
        lambda stream, pattern, *, pieces=None, **options: ck.simulate(
            stream, pattern, "prefix-counters", pieces, **options
        ),
    ),
    "check_detectable": (
        "query.check_detectable(stream), with query = ck.parse(text)",
        _check_detectable,
    ),
    "compare_shared_plans": (
        "ck.compare_plans(patterns, statistics, searches)",
        lambda patterns, statistics, searches=None, **options: ck.compare_plans(
            patterns, statistics, searches, **options
        ),
    ),
    "pattern_graph": (
        "ck.draw(patterns) for the figure, ck.sharing.pattern_graph(patterns) for the value",
        "cepkit.sharing",
    ),
    "replay": (
        "stream.replay(folder)",
        lambda stream, *args, **options: stream.replay(*args, **options),
    ),
    "run_to_end": (
        "matches.run_to_end(out, checkpoint=...), a method of what detect and aggregate return",
        lambda rows, *args, **options: rows.run_to_end(*args, **options),
    ),
    "share_plans": (
        "ck.choose_plan(patterns, statistics, search, share=...)",
        lambda patterns, statistics, share="auto", *, search=None, **options: ck.choose_plan(
            patterns, statistics, search, share=share, **options
        ),
    ),
    "watch": (
        "matches.watch(query), a method of what detect and aggregate return",
        "cepkit.spark.streaming.watching",
    ),
    "weigh_plans": (
        'ck.compare_plans(pattern, statistics, planners, alphas="auto")',
        lambda pattern, statistics, planners=None, *, alphas="auto", **options: ck.compare_plans(
            pattern, statistics, planners, alphas=alphas, **options
        ),
    ),
}
"""What to write instead of each old name, and what does what it did: a function, or its module."""


def old_name(name: str) -> Any:
    """Return the value of an old name, and warn who asked the package for it."""
    instead, value = OLD_NAMES[name]
    warn(f"cepkit.{name} is an old name: write {instead}", stacklevel=5)
    return getattr(import_module(value), name) if isinstance(value, str) else value


def warn(change: str, *, stacklevel: int) -> None:
    """Warn of an old way of calling."""
    warnings.warn(
        f"{change} (the next release of cepkit removes the old way)",
        DeprecationWarning,
        stacklevel=stacklevel,
    )
