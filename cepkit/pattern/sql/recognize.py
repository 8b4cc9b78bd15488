"""A sequence without gaps as MATCH_RECOGNIZE, for the systems that have it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from sqlglot import exp

from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import Strategy
from cepkit.pattern.sql.expressions import Tree, all_of, comparison, tree_of
from cepkit.pattern.sql.joins import type_conditions, within
from cepkit.pattern.sql.table import Table, row_of

DIALECTS = ("flink", "snowflake", "trino")
"""The systems that have MATCH_RECOGNIZE."""


def recognize_of(branch: Branch, measures: Mapping[str, Tree], table: Table) -> exp.Select:
    """Return the SELECT of a sequence whose rows follow each other without a gap.

    Args:
        measures: What each match gives, by the name of the column.

    Raises:
        UnsupportedError: MATCH_RECOGNIZE cannot say the branch exactly.
    """
    variables = sorted(branch.variables, key=lambda v: len(branch.before(v)))
    chain = all(len(branch.before(v)) == place for place, v in enumerate(variables))
    if branch.negated or branch.repeated or not chain:
        raise UnsupportedError(
            "MATCH_RECOGNIZE can express exactly only a SEQ of single events",
            hint="run the pattern with cepkit",
        )
    define: dict[str, list[Tree]] = {variable: [] for variable in variables}
    for variable in variables:
        define[variable] += type_conditions(branch.event(variable), table)
    for before, variable in pairwise(variables):
        define[variable].append(comparison("<", table.moment(before), table.moment(variable)))
        if branch.strategy is Strategy.STRICT_CONTIGUITY:
            for name in branch.partition_by:
                one, other = table.column(before, name), table.column(variable, name)
                missing = [exp.Is(this=side.copy(), expression=exp.Null()) for side in (one, other)]
                same = comparison("=", one, other)
                define[variable].append(exp.paren(exp.or_(same, exp.and_(*missing))))
    for condition in branch.conditions:
        names = variables_of(condition)
        last = next((v for v in reversed(variables) if v in names), variables[0])
        define[last].append(tree_of(condition, table))
    if branch.window is not None and len(variables) > 1:
        end = variables[-1]
        define[end].append(within(branch.window, variables[0], end, table))
    elif branch.window is not None and branch.window.most < 0:
        define[variables[0]].append(exp.false())
    table.number(variables[0], "without gaps between rows, those of equal time need an order")
    keys = branch.partition_by if branch.strategy is Strategy.PARTITION_CONTIGUITY else ()
    clause = exp.MatchRecognize(
        partition_by=[_column(key) for key in keys],
        order=exp.Order(
            expressions=[
                exp.Ordered(this=_column(name), nulls_first=False)
                for name in dict.fromkeys((table.time, table.id))
                if name is not None
            ]
        ),
        measures=[
            exp.MatchRecognizeMeasure(this=exp.alias_(tree, name, quoted=True))
            for name, tree in measures.items()
        ],
        rows=exp.var("ONE ROW PER MATCH"),
        after=exp.var("AFTER MATCH SKIP TO NEXT ROW"),
        pattern=exp.var(" ".join(table.text(row_of(variable)) for variable in variables)),
        define=[
            exp.alias_(all_of(conditions), row_of(variable))
            for variable, conditions in define.items()
            if conditions
        ],
    )
    select = exp.select(*map(_column, measures)).from_(table.source())
    select.set("match", clause)
    return select


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))
