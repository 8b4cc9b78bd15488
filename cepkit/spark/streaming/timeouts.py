"""Partial matches that time out: patterns that find them.

A partial match of a SEQ or AND binds its first k variables, in the order of the pattern, such that
all conditions on these alone hold. It times out when its window ends and no event has come that
could be the next. That is a match of the pattern of these variables with NOT(the next) at the end:
so the engine finds timeouts as it finds matches, whatever the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from cepkit.columnar.slices.cutting import Owned
from cepkit.errors import UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.checks import check
from cepkit.pattern.names import name_text
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.spark.streaming.searches import Carried, Search
from cepkit.stream.columns import EventColumns

AWAITED, WINDOW_END = "awaited", "window_end"
"""The columns of a timed-out partial match: the variable that did not come, its window's end."""
MOMENT = pa.timestamp("us", tz="UTC")


def with_timeout(rows: pa.Schema) -> pa.Schema:
    """Return the columns of partial matches that timed out, from the columns of matches."""
    more = [pa.field(AWAITED, pa.string()), pa.field(WINDOW_END, MOMENT)]
    return pa.schema([*rows, *more])


@dataclass(frozen=True, slots=True)
class TimeoutSearch(Search):
    """The partial matches that wait for one variable when their window ends.

    Attributes:
        search: The search that finds them.
        awaited: The variable.
        start: The number of the column that says when they start.
    """

    search: Search
    awaited: str
    start: int

    def batches(
        self, events: EventColumns, owned: Owned, carried: Carried
    ) -> Iterator[pa.RecordBatch | str]:
        """Yield the partial matches whose last event lies in the stretch."""
        length = pa.scalar(self.reach.window, pa.int64()).cast(pa.duration("us"))
        for batch in self.search.batches(events, owned, carried):
            if isinstance(batch, pa.RecordBatch):
                awaited = pa.array([self.awaited] * batch.num_rows, pa.string())
                ends = pc.add(batch.column(self.start).cast(MOMENT), length)
                columns = [*batch.columns, awaited, ends]
                yield pa.RecordBatch.from_arrays(columns, schema=with_timeout(batch.schema))


def timeout_queries(query: Query) -> dict[str, Query]:
    """Return for each variable but the first the pattern of partial matches that wait for it.

    Raises:
        UnsupportedError: The pattern is no SEQ or AND of single events under skip-till-any-match.
    """
    if query.after_match is not None:
        raise UnsupportedError(
            "timeouts with AFTER MATCH SKIP: it chooses among complete matches",
            hint="leave timeouts out, or ask for them with a second query without AFTER MATCH SKIP",
        )
    inside = tuple(nodes.walk(query.structure))
    plain = all(isinstance(p, nodes.Seq | nodes.And | nodes.First | nodes.Event) for p in inside)
    plain = plain and not query.groups
    if not plain or query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        raise UnsupportedError(
            "timeouts of such a pattern: they are defined only for SEQ and AND of single events"
            " (also FIRST) under skip-till-any-match",
            hint="leave timeouts out, or ask for them with a simpler pattern in a second query",
        )
    (branch,) = normal_form(query)
    events = nodes.events_of(query.structure)
    firsts = {nodes.events_of(p)[0] for p in inside if isinstance(p, nodes.First)}
    parts = c.conjuncts(query.where)
    queries = {}
    for k in range(1, len(events)):
        awaited, known = events[k].variable, {event.variable for event in events[: k + 1]}
        about = tuple(p for p in parts if c.variables_of(p) <= known)
        bounds = tuple(bound for bound in query.bounds if {bound.first, bound.last} <= known)
        if events[k] in firsts:
            together = [*map(c.variables_of, about), *({b.first, b.last} for b in bounds)]
            _check_first(awaited, branch.before(awaited), together)
        shorter = _shorter(query.structure, known, awaited)
        assert shorter is not None
        shorter_query = replace(
            query, structure=shorter, where=c.all_of(about), bounds=bounds, returned=(), text=None
        )
        queries[awaited] = check(shorter_query)
    return queries


def _shorter(structure: nodes.Structure, known: Set[str], awaited: str) -> nodes.Structure | None:
    """Return the part of a structure that is about some variables, with NOT for the awaited one."""
    match structure:
        case nodes.Seq(items) | nodes.And(items):
            parts = [_shorter(item, known, awaited) for item in items]
            rest = tuple(part for part in parts if part is not None)
            return type(structure)(rest) if len(rest) > 1 else rest[0] if rest else None
        case _:
            (event,) = nodes.events_of(structure)
            if event.variable == awaited:
                return nodes.Not(event)
            return structure if event.variable in known else None


def _check_first(variable: str, before: Set[str], together: Iterable[Set[str]]) -> None:
    """Refuse to wait for a FIRST event if conditions link it to others than those before it.

    If only those before it are linked, one of the events that could be the next is the first.

    Args:
        together: The variables of each condition.
    """
    linked = {name for names in together if variable in names for name in names}
    others = linked - before - {variable}
    if others:
        listed = " and ".join(sorted(map(name_text, others)))
        raise UnsupportedError(
            f"timeouts of FIRST {name_text(variable)}, with a condition on it and {listed}, which"
            " is not before it: an earlier event, which need not fulfil that, rules out later ones",
            hint="leave FIRST out, or use PARTITION BY instead of equalities",
        )
