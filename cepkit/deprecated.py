"""The old names of the front door: they work for one release, with a warning of what to write."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import cepkit as ck


def _watch(query: Any, *, last: int = 0) -> Any:
    from cepkit.spark.streaming.watching import watch

    return watch(query, last=last)


def _graph(patterns: Any) -> Any:
    return ck.sharing.pattern_graph(patterns)


OLD_NAMES: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "compare_shared_plans": (
        "ck.compare_plans(patterns, statistics, searches)",
        lambda patterns, statistics, searches=None, **options: ck.compare_plans(
            patterns, statistics, searches, **options
        ),
    ),
    "pattern_graph": (
        "ck.draw(patterns) for the figure, ck.sharing.pattern_graph(patterns) for the value",
        _graph,
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
    "watch": ("matches.watch(query), a method of what detect and aggregate return", _watch),
    "weigh_plans": (
        'ck.compare_plans(pattern, statistics, planners, alphas="auto")',
        lambda pattern, statistics, planners=None, *, alphas="auto", **options: ck.compare_plans(
            pattern, statistics, planners, alphas=alphas, **options
        ),
    ),
}
"""What to write instead of each old name, and a function that still does what it did."""


def old_name(name: str) -> Callable[..., Any]:
    """Return the function of an old name, and warn who asked the package for it."""
    instead, function = OLD_NAMES[name]
    _warn(f"cepkit.{name} is an old name: write {instead}", stacklevel=5)
    return function


def _warn(change: str, *, stacklevel: int) -> None:
    warnings.warn(
        f"{change} (the old way goes with the next release of cepkit)",
        DeprecationWarning,
        stacklevel=stacklevel,
    )
