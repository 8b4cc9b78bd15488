"""Everything that can be shown, made of names and values that try to be more than text.

One text stands in every place that is free: types, variables, columns, keys, groups, values, and
what planners, cost models and error messages say. `DRAWN` and `SHOWN` are tables, which
tests hold against the register of figures and against all classes that notebooks show as HTML.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, get_args

import pandas as pd

import cepkit as ck
from cepkit.aggregation.rows.result import Aggregates
from cepkit.aggregation.semirings.functions import Count
from cepkit.aggregation.sequence.elements import Emit
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.calibration.result import CalibratedRow, Calibration
from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.plans import AdaptedExplanation, PlansInForce
from cepkit.columnar.results.several import SeveralMatches, SharedExplanation
from cepkit.columnar.slices.plans import SlicePlan
from cepkit.costs import PARTIAL_MATCHES
from cepkit.diagnosis.result import Funnel, NearMisses, Requirements, WhyNot
from cepkit.errors import LimitError
from cepkit.figures import FIGURES
from cepkit.figures.charts.measured_plans import _MEASURES
from cepkit.figures.kit.drawing import Drawing
from cepkit.figures.player import Player
from cepkit.learning.result import Chance, Learned, Proposal
from cepkit.pattern.builder import event, seq
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.plan.validity import Validity
from cepkit.planners.compare import PlanComparison
from cepkit.planners.tradeoff import Tradeoff
from cepkit.planners.what_if import WhatIf
from cepkit.routes.result import SeveralAggregates
from cepkit.routes.sharing import SharingPlan
from cepkit.rowpattern.result import RowMatches
from cepkit.sharing.compare import SharingComparison
from cepkit.sharing.graph import PatternGraph
from cepkit.sharing.searches import OwnPlans
from cepkit.sharing.shared_plan import SharedPlan
from cepkit.statistics.model import Statistics
from cepkit.statistics.summary import StreamSummary
from cepkit.stream.stream import Stream
from cepkit.teaching.equivalence import Equivalence
from cepkit.teaching.exercises import Exercise, Exercises, Marked
from cepkit.tracing import AdaptedTrace, CounterTrace, MechanismTrace
from cepkit.tracing.comparison import TraceComparison
from cepkit.tracing.mechanisms import Steps
from cepkit.tracing.search import Fate

TAG = "e<b>v"
"""Bold from data, which no figure may have. It comes first, as long texts are cut."""
SCRIPT = "<script>window.broken = true</script>"
EVIL = (
    f'{TAG}$\u202e<a href="https://evil.example">il</a>$<br>x<img src=x onerror="window.broken = '
    f'true"></script>{SCRIPT}%{{x}}%{{meta}}${{window.broken = true}}%s`y`&amp;\'"--><!--\u2028'
    "javascript:alert(1)\\(\\href{https://evil.example}{m}\\)\x1b[31m\u2066"
)
TIME, TYPE, PRICE, GROUP, NOTE = (f"{EVIL}{name}" for name in ("t", "k", "p", "g", "__proto__"))
KINDS = tuple(f"{EVIL}{kind}" for kind in "ABCN")
NAMES = tuple(f"{EVIL}{name}" for name in "abcn")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def structure(*letters: str) -> str:
    """Return a SEQ of events by their letters; an upper one is absent, a doubled one repeated."""
    parts = []
    for letter in letters:
        place = "abcn".index(letter[0].lower())
        part = f"{quoted(KINDS[place])} {quoted(NAMES[place])}"
        parts.append(f"NOT({part})" if letter.isupper() else f"KL({part})" if letter[1:] else part)
    return f"SEQ({', '.join(parts)})"


def attribute(letter: str, name: str) -> str:
    return f"{quoted(NAMES['abcn'.index(letter)])}.{quoted(name)}"


RISING = f"{attribute('a', PRICE)} < {attribute('b', PRICE)}"
LITERAL = f"{attribute('b', NOTE)} <> '{EVIL.replace(chr(39), chr(39) * 2)}?'"
QUERY = ck.parse(
    f"PATTERN {structure('a', 'b', 'N', 'c')} WHERE {RISING} AND {LITERAL} "
    f"AND {attribute('a', GROUP)} = {attribute('c', GROUP)} WITHIN 30 s"
)
NOTHING = ck.parse(
    f"PATTERN {structure('a', 'b', 'c')} WHERE {RISING} AND {LITERAL} "
    f"AND {attribute('c', PRICE)} > 90 WITHIN 30 s"
)
SIMPLE = f"PATTERN {structure('a', 'b', 'c')} WITHIN 30 s"
AGGREGATED = (
    f"{SIMPLE} AGG COUNT, AVG({attribute('b', PRICE)}), MIN({attribute('a', NOTE)}) "
    f"GROUP BY {quoted(GROUP)}"
)


@cache
def stream(count: int = 40) -> Stream:
    kinds = [KINDS["ABCN".index(letter)] for letter in "ABCABCN" * count]
    frame = pd.DataFrame(
        {
            TIME: range(count),
            TYPE: kinds[:count],
            PRICE: [float(i % 7) for i in range(count)],
            GROUP: [f"{EVIL}{i % 2}" for i in range(count)],
            NOTE: [f"{EVIL}{i % 3}" for i in range(count)],
        }
    )
    return ck.events(frame, time=TIME, type=TYPE, unit="s")


@cache
def calibration() -> Calibration:
    text = SIMPLE.replace(" WITHIN", f" WHERE {attribute('b', NOTE)} != $k WITHIN")
    return ck.calibrate(stream(), text, k=[EVIL, EVIL * 2], labels=[3, 9], tolerance="5 s")


def learned() -> Learned:
    """Return proposals with texts from outside."""
    row = CalibratedRow((), 9, 3, 1, 6, 2.0)
    split = datetime(2024, 1, 1, tzinfo=UTC)
    proposals = (Proposal(QUERY, row), Proposal(QUERY, row))
    return Learned(proposals, Chance(0.1, 0.01), split, (8, 4), 10**6, 99, finished=False)


@cache
def equivalence() -> Equivalence:
    return ck.equivalent(SIMPLE, NOTHING)


def row_pattern() -> str:
    """Return a query with MATCH_RECOGNIZE."""
    variable = quoted(NAMES[0])
    return f"""SELECT * FROM {quoted(EVIL)} MATCH_RECOGNIZE (
        PARTITION BY {quoted(GROUP)} ORDER BY {quoted(TIME)}
        MEASURES CLASSIFIER() AS {quoted(NAMES[1])}, LAST({quoted(NOTE)}) AS {quoted(NAMES[2])}
        PATTERN ({variable}+) DEFINE {variable} AS {quoted(PRICE)} > 2)"""


@dataclass(frozen=True)
class Evil:
    """A planner and a cost model of that name; the planner may refuse, and says why."""

    refuses: bool = False
    name: str = EVIL

    def plan(self, branch: Any, *_: Any) -> OrderPlan:
        if self.refuses:
            raise LimitError(EVIL, expected=EVIL, hint=EVIL)
        return OrderPlan(tuple(branch.variables))

    def on(self, branch: Any, statistics: Statistics) -> Any:
        return PARTIAL_MATCHES.on(branch, statistics)


@cache
def statistics() -> Statistics:
    return ck.profile(stream(), QUERY)


@cache
def plans() -> tuple[Plan, ...]:
    names = ("greedy", "dp-order", "dp-tree")
    return (
        *(ck.choose_plan(QUERY, statistics(), name) for name in names),
        ck.choose_plan(QUERY, statistics(), Evil()),
    )


@cache
def comparison() -> PlanComparison:
    chosen = ["greedy", "dp-tree", Evil(), Evil(refuses=True, name=f"{EVIL}2")]
    found = ck.compare_plans(QUERY, statistics(), chosen, cost=Evil(), run=True, stream=stream())
    not_run = replace(found.rows[0], measured=None, not_run=EVIL)
    return replace(found, rows=(*found.rows, not_run), notes=(EVIL,))


def matches() -> Matches:
    return ck.detect(stream(), QUERY, plans()[1])


@cache
@cache
def detected_together() -> SeveralMatches[Any]:
    return ck.detect(stream(), {EVIL: QUERY, f"{EVIL}2": QUERY})


def pattern_graph() -> PatternGraph:
    return ck.sharing.pattern_graph({EVIL: QUERY, f"{EVIL}2": QUERY})


def tradeoff() -> Tradeoff:
    return ck.compare_plans(QUERY, statistics(), ["greedy", "dp-tree", Evil()], alphas="auto")


@cache
def rates_asked() -> WhatIf:
    return ck.what_if(QUERY, statistics(), plans(), NAMES[0])


@cache
def validity() -> Validity:
    known = replace(statistics(), rates=dict(zip(NAMES, (1.0, 2.0, 3.0, 1.0), strict=True)))
    return ck.choose_plan(QUERY, known, "zstream-ord").validity(statistics())


@cache
def adapted(rows: int = 5) -> Matches:
    table, plan = stream(), ck.choose_plan(QUERY, statistics(), "greedy")
    return Matches(table, QUERY, plan, plans=Turns(rows), slice_rows=rows)


class Turns:
    """Plans of slices that change each time, for a reason."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        orders = itertools.permutations(NAMES[:3])
        self._plans = [Plan((OrderPlan(order),), EVIL) for order in orders]

    def least_rows(self, _columns: Any) -> int:
        return self._rows

    def __call__(self, _columns: Any, first: int, _end: int) -> SlicePlan:
        plan = self._plans[first // self._rows % len(self._plans)]
        compiled = compile_query(QUERY, plan)
        return SlicePlan(compiled, plan.branches, dict.fromkeys(NAMES, 1.0 + first), EVIL)


@cache
def explanation() -> Explanation:
    found = matches()
    found.count()
    return found.explain()


@cache
def aggregates(emit: Emit = "trigger") -> Aggregates:
    return ck.aggregate(stream(), AGGREGATED, emit=emit)


def own_columns(emit: Emit) -> Aggregates:
    """Columns with names of one's own."""
    return ck.aggregate(stream(), SIMPLE, emit=emit, functions={EVIL: Count(), "n": Count()})


def from_spark() -> Any:
    """Aggregates of a Spark stream as a figure reads them."""
    local = aggregates()
    fetched = SimpleNamespace(toArrow=local.to_arrow)
    chosen = SimpleNamespace(limit=lambda _: fetched)
    told = {name: getattr(local, name) for name in ("query", "emit", "method", "reason")}
    return SimpleNamespace(**told, toArrow=local.to_arrow, select=lambda _: chosen)


@cache
def why(named: bool) -> WhyNot:
    bindings = {NAMES[0]: 0, NAMES[1]: 1, NAMES[2]: 12} if named else None
    return ck.why_not(stream(), QUERY if named else NOTHING, bindings=bindings)


@cache
def trace(mechanism: str = "chain-nfa") -> MechanismTrace:
    return ck.simulate(stream(), QUERY, mechanism)


@cache
def adapted_trace() -> AdaptedTrace:
    return ck.simulate(stream(), QUERY, adapt="unconditional")


@cache
def counter_trace(*cuts: int) -> CounterTrace:
    ends = [0, *cuts, 3]
    pieces = [list(NAMES[a:b]) for a, b in itertools.pairwise(ends)]
    equal = f"{attribute('a', GROUP)} = {attribute('b', GROUP)}"
    equal += f" AND {attribute('b', GROUP)} = {attribute('c', GROUP)}"
    text = SIMPLE.replace(" WITHIN", f" WHERE {equal} WITHIN")
    return ck.simulate(stream(), text, "prefix-counters", plan=pieces)


@cache
def several() -> SeveralAggregates[Any]:
    longer = f"PATTERN {structure('a', 'b', 'c', 'n')} WITHIN 30 s AGG COUNT"
    repeated = f"PATTERN {structure('a', 'bb', 'c')} WHERE {RISING} WITHIN 30 s AGG COUNT"
    queries = [f"{SIMPLE} AGG COUNT", longer, repeated]
    return ck.aggregate(stream(), queries, share=[[3], [3, 1], None])


TRACES = ("player", "diagram", "counters")
"""The figures of a trace."""

Drawn = Iterator[tuple[Any, dict[str, Any]]]
"""Things with the options to draw them with."""


def _drawn_statistics() -> Drawn:
    yield from ((statistics(), {"of": of}) for of in ("overview", "time", "keys"))


def _drawn_streams() -> Drawn:
    yield ck.profile(stream()), {"types": 2}


def _drawn_plans() -> Drawn:
    for plan in plans():
        yield from ((plan, {}), (plan, {"pattern": QUERY, "per_row": 2}))


def _drawn_comparisons() -> Drawn:
    yield from ((comparison(), {"of": of}) for of in ("costs", "measured", "search"))
    yield from ((comparison(), {"of": "measured", "by": by}) for by in _MEASURES)
    yield comparison(), {"of": "search", "over": "seconds", "branch": 1}


def _drawn_matches() -> Drawn:
    found = matches()
    yield from ((found, {}), (found, {"since_start": True, "limit": 2}))
    yield found.to_pandas(), {"time": TIME, "type": TYPE}


def _drawn_aggregates() -> Drawn:
    for emit in get_args(Emit):
        yield from ((aggregates(emit), {}), (own_columns(emit), {"columns": EVIL}))
    yield aggregates(), {"groups": 1}
    if find_spec("pyspark"):
        yield from_spark(), {}


def _drawn_traces() -> Drawn:
    for mechanism in MECHANISMS:
        yield from ((trace(mechanism), {"of": kind}) for kind in TRACES)
    yield (
        trace(),
        {
            "of": "player",
            "steps": 9,
            "start": 5,
            "link": EVIL,
            "attributes": [PRICE, NOTE],
            "redact": [PRICE],
        },
    )
    yield trace(), {"of": "player", "quiz": 9, "seed": EVIL}
    yield (
        adapted_trace(),
        {"quiz": 9, "seed": EVIL},
    )
    yield from (
        (adapted_trace(), {}),
        (
            adapted_trace(),
            {"steps": 9, "start": 5, "link": EVIL, "attributes": [NOTE], "redact": [NOTE]},
        ),
    )
    yield trace(), {"of": "counters", "counters": ["created"]}


def _drawn_counter_traces() -> Drawn:
    for kind in TRACES:
        yield from ((counter_trace(), {"of": kind}), (counter_trace(2), {"of": kind}))
    yield counter_trace(2), {"of": "diagram", "step": 2}


def _each(*things: Callable[[], Any], **options: Any) -> Callable[[], Drawn]:
    return lambda: ((thing(), options) for thing in things)


_BY_HAND: dict[str, Callable[[], Drawn]] = {
    "query": lambda: iter([(QUERY, {}), (QUERY, {"per_row": 1})]),
    "pattern": _each(lambda: seq(*map(event, NAMES, KINDS))),
    "plan": _drawn_plans,
    "streams": _drawn_streams,
    "statistics": _drawn_statistics,
    "comparison": _drawn_comparisons,
    "tradeoff": _each(tradeoff),
    "what-if": _each(rates_asked),
    "calibration": _each(calibration),
    "learned": _each(learned, lambda: replace(learned(), proposals=())),
    "equivalence": _each(equivalence),
    "explanation": _each(explanation),
    "validity": _each(validity),
    "plans in force": lambda: iter(
        [(adapted().plans, {}), (adapted().plans, {"beside": adapted(7).plans})]
    ),
    "matches": _drawn_matches,
    "aggregates": _drawn_aggregates,
    "why not": _each(lambda: why(True), lambda: why(False)),
    "funnel": lambda: iter([(why(False).funnel, {}), (why(False).funnel, {"title": EVIL})]),
    "near misses": _each(lambda: why(False).near_misses),
    "trace": _drawn_traces,
    "counter trace": _drawn_counter_traces,
    "sharing plan": _each(lambda: several().plan),
    "several aggregates": _each(several),
    "shared plan": lambda: iter(
        [
            (detected_together().plan, {}),
            ([detected_together().plan] * 2, {"nodes": 1, "width": 500}),
        ]
    ),
    "pattern graph": lambda: iter(
        [(pattern_graph(), {}), (pattern_graph(), {"vertices": 1, "width": 500})]
    ),
    "plans": lambda: iter([(plans(), {}), (plans(), {"pattern": QUERY, "width": 500})]),
    "traces": lambda: iter(
        [([*map(trace, MECHANISMS)], {"of": k}) for k in ("player", "counters")]
    ),
    "counter traces": lambda: iter(
        [([counter_trace(), counter_trace(1)], {"of": k}) for k in ("player", "counters")]
    ),
}


def every_figure(things: Iterable[Any]) -> Drawn:
    """Every figure of the register, of the first thing that it fits, without options."""
    drawn: set[int] = set()
    for thing in things:
        for entry in FIGURES:
            if entry.fits(thing) and FIGURES.find(thing, entry.name) is entry:
                if id(entry) not in drawn:
                    yield thing, {"of": entry.name}
                drawn.add(id(entry))


def _things() -> Iterator[Any]:
    for drawn in _BY_HAND.values():
        yield from (thing for thing, _ in drawn())


DRAWN = {**_BY_HAND, "every figure": lambda: every_figure(_things())}


SHOWN: dict[type, Callable[[], Any]] = {
    Query: lambda: QUERY,
    Plan: lambda: plans()[1],
    Statistics: statistics,
    PlanComparison: comparison,
    Tradeoff: tradeoff,
    WhatIf: rates_asked,
    Calibration: calibration,
    Learned: learned,
    Equivalence: equivalence,
    Exercises: lambda: ck.exercises(EVIL),
    Exercise: lambda: replace(ck.exercises()[0], task=EVIL, pattern=EVIL, answers=EVIL),
    Marked: lambda: Marked(False, EVIL, equivalence()),
    Explanation: explanation,
    Validity: validity,
    PlansInForce: lambda: adapted().plans,
    AdaptedExplanation: lambda: adapted().explain(),
    Matches: matches,
    RowMatches: lambda: ck.from_match_recognize(row_pattern(), stream()),
    SeveralMatches: detected_together,
    SharedExplanation: lambda: detected_together().explain(),
    SharedPlan: lambda: detected_together().plan,
    SharingComparison: lambda: ck.compare_plans({EVIL: QUERY}, statistics(), [OwnPlans(EVIL)]),
    PatternGraph: pattern_graph,
    Aggregates: aggregates,
    WhyNot: lambda: why(True),
    Requirements: lambda: why(True).requirements,
    Funnel: lambda: why(False).funnel,
    NearMisses: lambda: why(False).near_misses,
    MechanismTrace: trace,
    AdaptedTrace: adapted_trace,
    Steps: lambda: trace()[0:4],
    Fate: lambda: trace().fate(1),
    TraceComparison: lambda: trace().compare(trace("eager-nfa")),
    CounterTrace: lambda: counter_trace(2),
    SharingPlan: lambda: several().plan,
    SeveralAggregates: several,
    Player: lambda: ck.draw(trace()),
    Drawing: lambda: ck.draw(QUERY),
    Stream: stream,
    StreamSummary: lambda: ck.profile(stream()),
}
