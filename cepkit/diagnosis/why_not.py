"""The question "why not?", put to a local stream: about named events, or about any at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepkit.diagnosis.anything import about_any
from cepkit.diagnosis.named import about
from cepkit.diagnosis.naming import Naming, check_names
from cepkit.diagnosis.question import Question
from cepkit.diagnosis.result import WhyNot
from cepkit.diagnosis.scene import Scene
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.statistics.estimate import attributes_read
from cepkit.stream.stream import Stream

BUDGET = 40_000_000
"""Events in combinations that an answer looks at, for each of its parts: some seconds."""


def why_not(
    stream: Stream,
    query: Query,
    named: Mapping[str, Any],
    *,
    plan: Plan,
    id: str | None = None,  # noqa: A002 - as users write it
    violations: int = 1,
    limit: int = 10,
    budget: int = BUDGET,
) -> WhyNot:
    """Return why named events are no match, or why there is none.

    Args:
        stream: A local stream.
        query: The pattern.
        named: For variables the row number or the id of their event; for those under KL one or
            a list.
        plan: The order of the funnel's steps.
        id: The column that events are named by; None: by their row.
        violations: How many requirements a near miss may violate.
        limit: The most near misses.
        budget: The most events in combinations that each part of the answer may look at.

    Raises:
        PatternError: A name that is no variable's.
        StreamError: No such event, or several.
    """
    check_names(query, named)
    wanted = sorted(attributes_read(query) | ({id} if id is not None else set()))
    columns = stream.columns(wanted)
    scene = Scene(columns, query.partition_by)
    asked = Question(query, scene, Naming(columns, id), plan, violations, limit, budget)
    return about(asked, named) if named else about_any(asked)
