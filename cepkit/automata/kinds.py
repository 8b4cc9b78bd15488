"""Whether conditions compare what can be compared: asked once, of columns, before anything runs.

The evaluation of columns knows all that can be wrong and says it with its place in the text; so
each condition is evaluated on the first event alone, bound to every variable.
"""

from __future__ import annotations

import numpy as np

from cepkit.errors import PatternError
from cepkit.pattern.conditions import Aggregate, Attribute, Expression, conjuncts
from cepkit.pattern.evaluation import truth
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import replaced, without_not
from cepkit.pattern.set_functions import set_function
from cepkit.stream.columns import Column, EventColumns


def check_kinds(query: Query, columns: EventColumns) -> None:
    """Refuse conditions that compare or compute what they cannot.

    Args:
        query: The query.
        columns: The stream, with all that the query reads.

    Raises:
        PatternError: As a text where a number belongs; it points at the place. Or where
            PARTITION BY names an attribute that holds arrays.
    """
    for name in query.partition_by:
        if columns.attributes[name].kind == "array":
            raise PatternError(
                f"PARTITION BY '{name}', which holds arrays",
                expected="an attribute whose values are numbers, texts, times or truth values",
            )
    if len(columns) == 0:
        return
    for condition in conjuncts(query.where):
        _check(condition, columns)


def _check(condition: Expression, columns: EventColumns) -> None:
    known: dict[tuple[str, str], Column] = {}

    def first(name: str) -> Column:
        return columns.attributes[name].slice(0, 1)

    def reduced(node: Attribute | Aggregate) -> Expression:
        if isinstance(node, Attribute):
            known[node.variable, node.name] = first(node.name)
            return node
        members = None if node.attribute is None else first(node.attribute)
        if node.function in ("first", "last"):
            assert members is not None
            column = members
        else:
            column = set_function(node, members, np.array([0, 1]))
        # A name that no attribute has: those of one event never contain a bracket and a space.
        stand_in = Attribute(str(node.variable), f"{node.function} ({node.attribute})", node.span)
        known[stand_in.variable, stand_in.name] = column
        return stand_in

    truth(replaced(without_not(condition), reduced), lambda v, name: known[v, name], 1)
