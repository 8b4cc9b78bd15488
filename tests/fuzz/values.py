"""Values for the verbs: calls as they should be, with a few arguments that nobody should give."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import cepkit as ck
from cepkit.pattern import builder
from cepkit.statistics.model import Statistics
from tests.fuzz.case import Case, hostile, look_at, streams

_PATTERN = "PATTERN SEQ(A a, B b, C c) WHERE a.x <= b.x AND a.k = c.k WITHIN 9 us"
_OPEN = "PATTERN SEQ(A a, B b) WHERE b.x > $k WITHIN 5 seconds"
_COUNTED = f"{_PATTERN} AGG COUNT, SUM(c.x)"

_SQL = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b+) DEFINE b AS x > PREV(x))"


@cache
def _things() -> dict[str, Any]:
    stream = streams()[0]
    statistics = ck.profile(stream, _PATTERN)
    return {
        "stream": stream,
        "frame": stream.source,
        "statistics": statistics,
        "plan": ck.choose_plan(_PATTERN, statistics),
        "comparison": ck.compare_plans(_PATTERN, statistics, ["greedy", "dp-tree"]),
        "matches": ck.detect(stream, _PATTERN),
        "trace": ck.simulate(stream, _PATTERN),
        "query": ck.parse(_PATTERN),
    }


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="cepkit-fuzz-"))


def _calls() -> dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Return for each verb how it is called, with all its arguments."""
    t = _things()
    stream, statistics = t["stream"], t["statistics"]
    part = builder.event("a", "A")
    folder = _folder()
    a = builder.var("a")
    return {
        "events": (ck.events, (t["frame"],), {"time": "ts", "type": "type", "unit": "us",
                   "timezone": None, "columns": ["x"], "arrival": None}),
        "parse": (ck.parse, (_PATTERN,), {}),
        "from_match_recognize": (ck.from_match_recognize, (_SQL, stream), {}),
        "profile": (ck.profile, (stream, _PATTERN), {"seed": 0, "progress": False}),
        "choose_plan": (ck.choose_plan, (_PATTERN, statistics, "greedy"), {
            "cost": "work", "progress": False}),
        "compare_plans": (ck.compare_plans, (_PATTERN, statistics, ["greedy"]), {
            "cost": "work", "run": True, "stream": stream, "events": 5, "progress": False}),
        "compare_plans alphas": (ck.compare_plans, (_PATTERN, statistics, ["greedy"]), {
            "alphas": [0.0, 1.0], "matches": t["matches"], "progress": False}),
        "what_if": (ck.what_if, (_PATTERN, statistics, t["comparison"], "a"), {
            "rates": [1.0, 2.0], "cost": "work"}),
        "detect": (ck.detect, (stream, _PATTERN, ["a", "b", "c"]), {
            "limit": 3, "sets": "every", "spark": ck.SparkOptions(), "progress": False}),
        "detect sample": (ck.detect, (stream, "PATTERN SEQ(A a, B b)"), {"sample": 3, "seed": 1}),
        "detect clocks": (ck.detect, (stream, "PATTERN SEQ(A a, B b)"), {"clock_error": "1 s"}),
        "detect several": (ck.detect, (stream, {"p": _PATTERN, "q": _PATTERN}), {
            "share": "auto", "limit": 3, "sets": "every"}),
        "choose_plan several": (ck.choose_plan, ([_PATTERN], statistics, "greedy-merge"), {
            "share": "auto", "cost": "work", "observe": None, "progress": False}),
        "compare_plans several": (ck.compare_plans, ([_PATTERN], statistics, ["own-plans"]), {
            "share": "auto", "cost": "work", "progress": False}),
        "draw several": (ck.draw, ([_PATTERN, _PATTERN],), {}),
        "check_detectable": (t["query"].check_detectable, (stream,), {}),
        "aggregate error": (ck.aggregate, (stream, "PATTERN SEQ(A a, B b) AGG COUNT"), {
            "error": 0.2, "confidence": 0.9, "seed": 1}),
        "aggregate": (ck.aggregate, (stream, _COUNTED), {
            "method": "auto", "emit": "trigger", "functions": None, "share": "auto",
            "spark": ck.SparkOptions(), "progress": False}),
        "aggregate several": (ck.aggregate, (stream, [_COUNTED, _COUNTED]), {"share": "auto"}),
        "calibrate": (ck.calibrate, (stream, _OPEN), {
            "labels": [1, 2], "by": None, "tolerance": "1 second", "miss": 1.0,
            "false_alarm": 1.0, "progress": False, "k": [1, 2]}),
        "learn": (ck.learn, (stream, [1, 2, 3, 4, 5]), {
            "within": "1 second", "by": None, "seed": 0, "progress": False}),
        "equivalent": (ck.equivalent, (_PATTERN, _OPEN.replace("$k", "3")), {
            "streams": 50, "events": 4, "seed": 0, "progress": False}),
        "simulate": (ck.simulate, (stream, _PATTERN, "chain-nfa", ["a", "b", "c"]), {
            "limit": 5, "max_steps": 10, "progress": False}),
        "simulate counters": (ck.simulate, (stream, _PATTERN.replace("a.x <= b.x AND", ""),
            "prefix-counters", [["a"], ["b", "c"]]), {"limit": 5}),
        "why_not": (ck.why_not, (stream, _PATTERN), {
            "plan": ["a", "b", "c"], "id": None, "violations": 1, "limit": 3,
            "bindings": {"a": 0}, "progress": False}),
        "studio": (ck.studio, (stream, _PATTERN), {"events": 5}),
        "why_not named": (ck.why_not, (stream, _PATTERN), {"a": 0, "b": 1}),
        "SparkOptions": (ck.SparkOptions, (), {"slice_seconds": 1.0, "slice_events": 10,
            "route": "driver", "buckets": 2, "late": "count", "timeouts": True}),
        "register_function": (ck.register_function, ("own", abs), {}),
        "sample_stocks": (ck.sample_stocks, (5,), {"seed": 7}),
        "sample_clicks": (ck.sample_clicks, (5,), {"seed": 7}),
        "draw query": (ck.draw, (t["query"],), {}),
        "draw plan": (ck.draw, (t["plan"],), {"pattern": _PATTERN, "per_row": 2}),
        "draw statistics": (ck.draw, (statistics,), {"of": "time"}),
        "draw comparison": (ck.draw, (t["comparison"],), {"of": "costs"}),
        "draw matches": (ck.draw, (t["matches"],), {"limit": 3, "since_start": True}),
        "draw trace": (ck.draw, (t["trace"],), {"of": "player", "steps": 5, "start": 0}),
        "stream.head": (stream.head, (3,), {}),
        "matches.head": (t["matches"].head, (3,), {}),
        "matches.timeline": (t["matches"].timeline, (3,), {}),
        "matches.explain": (t["matches"].explain, (), {"anew": True}),
        "matches.write_parquet": (t["matches"].write_parquet, (folder / "m.parquet",), {
            "overwrite": True}),
        "trace.to_json": (t["trace"].to_json, (folder / "t.json",), {"overwrite": True}),
        "trace.next_match": (t["trace"].next_match, (-1,), {}),
        "trace.compare": (t["trace"].compare, (t["trace"],), {}),
        "player.save_html": (ck.draw(t["trace"]).save_html, (folder / "p.html",), {
            "overwrite": True}),
        "trace.find": (t["trace"].find, ("create",), {"instance": 0, "event": 0, "after": -1}),
        "trace.fate": (t["trace"].fate, (0,), {}),
        "trace.from_json": (type(t["trace"]).from_json, ("{}",), {}),
        "Statistics": (Statistics, ({"a": 1.0},), {"filters": {"a": 0.5}, "same_key": 1.0,
                       "events": 3, "first": 0, "last": 9, "never_occurring": ("Z",)}),
        "Statistics.assumed": (Statistics.assumed, ({"a": 1.0, "b": 2.0},), {
            "selectivities": {("a", "b"): 0.5}, "filters": {"a": 0.5}, "same_key": 1.0,
            "span_seconds": 60.0}),
        "Statistics.from_json": (Statistics.from_json, ("{}",), {}),
        "statistics.to_json": (statistics.to_json, (folder / "s.json",), {"overwrite": True}),
        "statistics.with_filter": (statistics.with_filter, ("a", 0.5), {}),
        "statistics.with_rate": (statistics.with_rate, ("a", 2.0), {}),
        "statistics.moved": (statistics.moved, (), {
            "rates": {"a": 2.0}, "selectivities": {("a", "b"): 0.5}, "window": 5.0}),
        "statistics.with_selectivity": (statistics.with_selectivity, ("a", "b", 0.5), {}),
        "builder.event": (builder.event, ("a", "A", "B"), {}),
        "builder.seq": (builder.seq, (part, part), {}),
        "builder.and_": (builder.and_, (part, part), {}),
        "builder.or_": (builder.or_, (part, part), {}),
        "builder.not_": (builder.not_, (part,), {}),
        "builder.any_event": (builder.any_event, ("a",), {}),
        "builder.var": (builder.var, ("a",), {}),
        "builder.count": (builder.count, (a.x,), {}),
        "builder.kl": (builder.kl, (part, 1, 2), {}),
        "builder.where": (part.where, (a.x < 3, "a.x > 1"), {}),
        "builder.within": (part.within, ("4 hours",), {"exclusive": True}),
        "builder.within events": (part.within, (), {"events": 4, "exclusive": True}),
        "builder.strategy": (part.strategy, ("strict-contiguity",), {}),
        "builder.partition_by": (part.partition_by, ("k",), {}),
        "builder.agg": (part.agg, ("COUNT", builder.sum_(a.x)), {}),
        "builder.group_by": (part.group_by, ("k",), {}),
        "builder.fn": (builder.fn, ("abs", a.x), {}),
        "builder.avg": (builder.avg, (a.x,), {}),
        "builder.is_in": (a.x.is_in, ([1, 2],), {}),
        "builder.between": (a.x.between, (1, 2), {}),
        "builder <": (lambda value: a.x < value, (1,), {}),
        "builder &": (lambda value: (a.x < 1) & value, (a.x > 0,), {}),
    }  # fmt: skip


def case(random: Random) -> Case:
    """Return a case: a call with some arguments replaced, or two exchanged."""
    name, (verb, given, options) = random.choice(list(_calls().items()))
    arguments, chosen = list(given), dict(options)
    for option in list(chosen):
        if random.random() < 0.3:
            del chosen[option]
    if len(arguments) > 1 and random.random() < 0.1:
        arguments[0], arguments[1] = arguments[1], arguments[0]
    for _ in range(random.choice((1, 1, 1, 2))):
        places = [*range(len(arguments)), *chosen] or [0]
        place = random.choice(places)
        strange = hostile(random)
        if random.random() < 0.2:
            strange = random.choice(list(_things().values()))
        if isinstance(place, int):
            arguments[place : place + 1] = [strange]
        else:
            chosen[place] = strange
    told = f"{name}: {_shown(arguments)} {_shown(chosen)}"
    return Case(told, lambda: _try(verb, arguments, chosen))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - one of those that cannot be shown
        return f"<{type(value).__name__}: {error}>"
    return text if len(text) < 200 else f"{text[:200]}..."


def _try(verb: Any, arguments: list[Any], options: dict[str, Any]) -> None:
    result = verb(*arguments, **options)
    if verb is ck.detect:
        for matches in result if hasattr(result, "together") else (result,):
            matches.to_pandas()
    if isinstance(result, builder.Pattern):
        builder.as_query(result)
    look_at(result)
