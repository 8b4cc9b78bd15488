"""Runs a method over operations: compiled if that is exact, otherwise over elements.

The result are *moments*, one for each row of the output: the time, the group, the cause and the
aggregates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cepkit.aggregation.methods import by_elements, by_loops
from cepkit.aggregation.methods.subtraction import can_subtract, subtract
from cepkit.aggregation.rows.emission import groups_at
from cepkit.aggregation.rows.joining import join_elements
from cepkit.aggregation.rows.moments import Moments, integers
from cepkit.aggregation.semirings.functions import Element, Function
from cepkit.aggregation.semirings.lanes import SAFE, Lanes, lanes_of
from cepkit.aggregation.sequence import elements
from cepkit.aggregation.sequence.bounds import bounds
from cepkit.aggregation.sequence.elements import Emit, Method, Together
from cepkit.aggregation.sequence.operations import Interleaved, Operations, in_stream_order
from cepkit.stream.columns import EventColumns


def aggregate(
    operations: Interleaved,
    variables: Sequence[str],
    functions: Sequence[Function],
    columns: EventColumns,
    method: Method,
    emit: Emit,
) -> Moments:
    """Return the rows of a method; rows of elements do not depend on it.

    Args:
        variables: The variable of each position.
        columns: The stream, with the attributes that the functions read.
        emit: Which rows to return; see `cepkit.aggregate`.

    Raises:
        PatternError: A column has values that its function cannot take.
    """
    # If no match is possible, the only position gets another one before it.
    variables = [variables[0]] * (operations.length - len(variables)) + list(variables)
    positions = {variable: p for p, variable in enumerate(variables, 1)}
    sets = {variable for variable, p in positions.items() if operations.loops[p]}
    lanes = lanes_of(functions, positions, columns, sets)
    if lanes is not None and len(operations.ts):  # without events there is no need to compile
        moments = _by_loops(operations, lanes, method, emit)
        if moments is not None:
            return moments
    together = Together(functions)
    read = elements.reader(together, variables, columns)
    by_key = operations.by_key()
    records = by_elements.run(by_key, read, together)
    return _of_elements(by_key, together, records, emit)


def _by_loops(operations: Interleaved, lanes: Lanes, method: Method, emit: Emit) -> Moments | None:
    """Return the rows; None if their numbers may be too large for loops."""
    most = _greatest(operations, lanes, emit)
    # Without a window the product's first column is a row of prefix counters.
    products = method == "window-product" or operations.window is None
    subtracting = products and can_subtract(operations, lanes)
    if subtracting and most < SAFE:
        return subtract(operations, lanes, emit)
    by_key = operations.by_key()
    if most >= SAFE and len(by_key.groups) > 1:
        most = _greatest(by_key, lanes, emit)
    if most >= SAFE:
        return by_loops.run_remainders(by_key, lanes, most, emit) if most < math.inf else None
    if subtracting:
        return subtract(operations, lanes, emit)
    if operations.loops.any() and not lanes.empty:
        method = "window-product"  # counters that feed themselves carry no lanes
    return by_loops.run(by_key, lanes, method, emit)


def _greatest(operations: Operations | Interleaved, lanes: Lanes, emit: Emit) -> float:
    """Return an upper bound on integers in the result; infinity if a float might overflow."""
    live, total = bounds(operations)
    most = max(live, total if emit == "total" else 0.0)
    return most * lanes.greatest if most * lanes.greatest_float < math.inf else math.inf


def _of_elements(
    operations: Operations, together: Together, records: elements.Records, emit: Emit
) -> Moments:
    triggers = np.flatnonzero(operations.codes == 0)
    groups = groups_at(operations, triggers)
    if emit == "total":
        sums: dict[int, Element] = {} if operations.grouped else {0: together.zero}
        for group, element in zip(groups, records.new, strict=True):
            sums[int(group)] = together.plus(sums.get(int(group), together.zero), element)
        if operations.grouped:
            sums = {group: element for group, element in sorted(sums.items()) if element[0]}
        nothing = np.zeros(len(sums), dtype=np.int64)
        return Moments(
            nothing, np.array(list(sums), dtype=np.int32), nothing.astype(np.bool_), nothing,
            list(sums.values()), None,
        )  # fmt: skip
    if emit == "new":
        order = in_stream_order(operations.rows[triggers])
        at = triggers[order]
        ordered = [records.new[i] for i in order]
        return Moments(
            operations.ts[at], groups[order], np.ones(len(at), np.bool_),
            integers([element[0] for element in ordered]), ordered, None,
        )  # fmt: skip
    return join_elements(operations, together, triggers, records, changes=emit == "changes")
