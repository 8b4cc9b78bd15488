"""Queries with statistics, and the graphs of plans that the tests work on."""

import math
from dataclasses import replace
from random import Random

import cepkit as ck
from cepkit.costs import PARTIAL_MATCHES, WORK
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import normal_form
from cepkit.sharing.plan_graph import Choice, PlanGraph, Prepared
from cepkit.sharing.workload import Workload
from cepkit.statistics import Statistics
from cepkit.statistics.selectivity import Selectivity
from cepkit.statistics.together import alike, together


def measured(queries, rates, share=0.1, shares=None):
    """Return statistics of queries: rates by type, one share for all conditions or by types."""
    parts = []
    for group in alike(queries):
        query = together(group)
        types = {e.variable: ",".join(sorted(e.types or ())) for e in events_of(query.structure)}
        sets = {
            variables_of(condition)
            for branch in normal_form(query)
            for condition in branch.conditions
            if len(variables_of(condition)) > 1
        }
        known = {
            names: Selectivity((shares or {}).get(frozenset(types[n] for n in names), share))
            for names in sets
        }
        alone = {
            next(iter(variables_of(condition))): 0.5
            for branch in normal_form(query)
            for condition in branch.conditions
            if len(variables_of(condition)) == 1
        }
        speeds = {
            v: rates.get(t, 1.0) if isinstance(rates, dict) else rates for v, t in types.items()
        }
        parts.append(
            Statistics(speeds, alone, known, query=query, events=10**6, first=0, last=3_600_000_000)
        )
    return replace(parts[0], others=tuple(parts[1:]))


def prepared(texts, mode="order", cost=PARTIAL_MATCHES, rates=1.0, share=0.1, shares=None):
    """Return patterns prepared for searches."""
    queries = [ck.parse(text) for text in texts]
    statistics = measured(queries, rates, share, shares)
    return Prepared(Workload.of(queries, [statistics.of(q) for q in queries]), cost, mode)


def order(ready, number, names, pool=0):
    """Return the choice of an order by the names of variables."""
    description = ready.workload.sharers[number].description
    return Choice(tuple(description.variables.index(name) for name in names), pool)


def tree(ready, number, names, pool=0):
    """Return the choice of a tree by nested pairs of names."""
    description = ready.workload.sharers[number].description

    def places(node):
        if isinstance(node, str):
            return description.variables.index(node)
        return places(node[0]), places(node[1])

    return Choice(places(names), pool)


def graph_of(ready, choices):
    return PlanGraph(ready, dict(enumerate(choices)))


def drawn(number, *, types=8, size=4, spread=1, windows=(0.2,), seed=0, share=0.5, bounds=0):
    """Return random texts of patterns as in MULTI, and their statistics.

    Args:
        bounds: The share of events with a bound that differs from pattern to pattern.
    """
    random = Random(seed)
    names = [f"T{i}" for i in range(types)]
    rates = {name: random.uniform(2, 47) for name in names}
    pairs = [(x, y) for x in names for y in names if x < y]
    low, high = math.log(0.003), math.log(0.92)
    shares = {frozenset(pair): math.exp(random.uniform(low, high)) for pair in pairs}
    linked = {pair for pair in pairs if random.random() < share}
    texts = []
    while len(texts) < number:
        length = min(max(2, size + random.randint(-spread, spread)), types)
        chosen = random.sample(names, length)
        operator = random.choice(["SEQ", "AND"])
        parts = [f"{x.lower()}.d < {y.lower()}.d" for x, y in sorted(linked) if {x, y} <= {*chosen}]
        if bounds:
            some = (name for name in chosen if random.random() < bounds)
            parts += [f"{name.lower()}.y > {random.randint(0, 2)}" for name in some]
        where = " AND ".join(parts)
        texts.append(
            f"PATTERN {operator}({', '.join(f'{t} {t.lower()}' for t in chosen)})"
            + (f" WHERE {where}" if where else "")
            + f" WITHIN {round(1000 * random.choice(windows))} ms"
        )
    queries = [ck.parse(text) for text in texts]
    return texts, measured(queries, rates, shares=shares)


COSTS = {"work": WORK, "partial-matches": PARTIAL_MATCHES}
