"""cepkit: complex event processing in a notebook, on Spark.

A session, from data to matches:

    import cepkit as ck

    stream = ck.events("trades.parquet", time="ts", type="ticker")
    pattern = ck.parse("PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 minutes")
    statistics = ck.profile(stream, pattern)
    plan = ck.choose_plan(pattern, statistics)
    matches = ck.detect(stream, pattern, plan)
    matches.explain()

The names below are loaded on first use, so that importing cepkit costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

    from cepkit.api.aggregating import aggregate as aggregate
    from cepkit.api.calibrating import calibrate as calibrate
    from cepkit.api.comparing import compare_plans as compare_plans
    from cepkit.api.comparing import what_if as what_if
    from cepkit.api.detecting import detect as detect
    from cepkit.api.drawing import draw as draw
    from cepkit.api.explaining import why_not as why_not
    from cepkit.api.inputs import events as events
    from cepkit.api.inputs import parse as parse
    from cepkit.api.inputs import register_function as register_function
    from cepkit.api.inputs import sample_clicks as sample_clicks
    from cepkit.api.inputs import sample_stocks as sample_stocks
    from cepkit.api.learning import learn as learn
    from cepkit.api.planning import choose_plan as choose_plan
    from cepkit.api.planning import profile as profile
    from cepkit.api.row_patterns import from_match_recognize as from_match_recognize
    from cepkit.api.spark_options import SparkOptions as SparkOptions
    from cepkit.api.studio import studio as studio
    from cepkit.api.tracing import simulate as simulate
    from cepkit.errors import CepkitError as CepkitError
    from cepkit.spark.session.local import get_session as get_session
    from cepkit.statistics.model import Statistics as Statistics
    from cepkit.teaching.equivalence import equivalent as equivalent

_HOMES = {
    "cepkit.api.aggregating": ("aggregate",),
    "cepkit.api.calibrating": ("calibrate",),
    "cepkit.api.comparing": (
        "compare_plans",
        "what_if",
    ),
    "cepkit.api.detecting": ("detect",),
    "cepkit.api.drawing": ("draw",),
    "cepkit.api.explaining": ("why_not",),
    "cepkit.api.inputs": (
        "events",
        "parse",
        "register_function",
        "sample_clicks",
        "sample_stocks",
    ),
    "cepkit.api.learning": ("learn",),
    "cepkit.api.planning": (
        "choose_plan",
        "profile",
    ),
    "cepkit.api.row_patterns": ("from_match_recognize",),
    "cepkit.api.spark_options": ("SparkOptions",),
    "cepkit.api.studio": ("studio",),
    "cepkit.api.tracing": ("simulate",),
    "cepkit.errors": ("CepkitError",),
    "cepkit.spark.session.local": ("get_session",),
    "cepkit.statistics.model": ("Statistics",),
    "cepkit.teaching.equivalence": ("equivalent",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_MODULES = {
    "adaptation": "cepkit.adaptation",
    "builder": "cepkit.pattern.builder",
    "costs": "cepkit.costs",
    "planners": "cepkit.planners",
    "sharing": "cepkit.sharing",
}

__all__ = [*_HOME_OF, *_MODULES]  # noqa: PLE0604 - the names of the tables above


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name == "__version__":
        globals()[name] = _version()
        return globals()[name]
    if name not in _HOME_OF:
        return _old_name(name)
    from cepkit.lazy import loading

    with loading():
        value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def _old_name(name: str) -> Any:
    missing = AttributeError(f"module 'cepkit' has no attribute '{name}'")
    if name.startswith("_"):
        raise missing
    deprecated = import_module("cepkit.deprecated")
    if name not in deprecated.OLD_NAMES:
        raise missing
    return deprecated.old_name(name)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cepkit")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0"


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
