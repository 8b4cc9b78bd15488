"""Partial matches that time out: patterns that find them.

A partial match of a SEQ or AND binds its first k variables, in the order of the pattern, such that
all that the pattern says about these alone holds. It times out where its window ends and no event
has come that could have been the next. That is the pattern of these variables with NOT(the next)
behind them, so that the engine finds them as it finds matches, whatever the plan.
"""

from __future__ import annotations

from dataclasses import replace

from cepkit.errors import UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.checks import check
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query


def timeout_queries(query: Query) -> tuple[Query, ...]:
    """Return for each number of variables but all the pattern of what times out there.

    Raises:
        UnsupportedError: The pattern is no SEQ or AND of plain events, each match for itself.
    """
    structure = query.structure
    items = structure.items if isinstance(structure, nodes.Seq | nodes.And) else (structure,)
    events = [item for item in items if isinstance(item, nodes.Event)]
    if len(events) < len(items) or query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        raise UnsupportedError(
            "timeouts of such a pattern: which partial matches there are is defined for SEQ and AND"
            " of single events under skip-till-any-match alone",
            hint="leave timeouts out, or ask for them of a simpler pattern beside",
        )
    parts = c.conjuncts(query.where)
    queries = []
    for k in range(1, len(events)):
        known = {event.variable for event in events[: k + 1]}
        about = tuple(p for p in parts if c.variables_of(p) <= known)
        where = None if not about else about[0] if len(about) == 1 else c.AllOf(about)
        first: tuple[nodes.Structure, ...] = (*events[:k], nodes.Not(events[k]))
        shorter = nodes.Seq(first) if isinstance(structure, nodes.Seq) else nodes.And(first)
        queries.append(check(replace(query, structure=shorter, where=where, text=None)))
    return tuple(queries)
