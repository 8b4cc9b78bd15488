"""Aggregates several sequences at once by a forest of their pieces.

It returns the rows of each sequence, the same as if it were aggregated separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.functions import Function, LanguageFunction
from cepkit.aggregation.semirings.lanes import SAFE, Lanes, lanes_of
from cepkit.aggregation.sequence.bounds import prefix_bounds
from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.aggregation.sequence.elements import Emit
from cepkit.aggregation.sequence.gathering import passing
from cepkit.aggregation.sequence.operations import Operations, operations_in
from cepkit.aggregation.sharing.plan import Forest, Spec, positions_of
from cepkit.aggregation.sharing.planner import Rates
from cepkit.aggregation.sharing.run import run
from cepkit.aggregation.sharing.wiring import parents_of
from cepkit.indexing import bin_counts
from cepkit.pattern.canonical import PLACEHOLDER
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.nodes import Event
from cepkit.stream.columns import EventColumns

Wide = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


def can_share(functions: Iterable[Function]) -> bool:
    """Return whether counters of several sequences can carry some aggregates."""
    return all(isinstance(function, LanguageFunction) for function in functions)


def kinds_of(sequences: Sequence[EventSequence]) -> set[Spec]:
    """Return all kinds of events of some sequences."""
    places = [place for each in sequences for place in positions_of(each)]
    return {spec for place in places for spec in (place.event, *place.absent)}


def rates_of(sequences: Sequence[EventSequence], columns: EventColumns) -> Rates:
    """Return the rates of all kinds of events in a stream."""
    span = float(columns.ts[-1] - columns.ts[0]) / 1e6 if len(columns) else 0.0
    numbers = bin_counts(columns.types, minlength=len(columns.type_names)).tolist()
    of_type = dict(zip(columns.type_names, numbers, strict=True))
    rates = {}
    for spec in kinds_of(sequences):
        if spec.types is None or spec.filters:
            number = int(passing(columns, Event(PLACEHOLDER, spec.types), spec.filters).sum())
        else:
            number = sum(of_type.get(name, 0) for name in spec.types)
        rates[spec] = number / (span or 1.0)
    return Rates(rates, longest_window(sequences), _keys(sequences[0], columns))


def longest_window(sequences: Sequence[EventSequence]) -> float | None:
    """Return the longest window in seconds, None for none."""
    windows = [each.window for each in sequences if each.window is not None]
    return max(windows) / 1e6 if windows else None


def _keys(sequence: EventSequence, columns: EventColumns) -> float:
    """Return the number of equally frequent keys with the same share of agreeing pairs."""
    first = sequence.positive[0]
    names = [*sequence.partition_by, *(dict(key)[first.variable] for key in sequence.keys)]
    if not names:
        return 1.0
    codes, _ = partition_keys([columns.attributes[name] for name in names])
    counts = bin_counts(codes[passing(columns, first, ())]).astype(np.float64)
    starts = float(counts.sum())
    alike = float((counts * (counts - 1)).sum())  # agreeing pairs, which a sample estimates too
    return starts * (starts - 1) / alike if alike else max(1.0, starts)


def aggregate(
    forest: Forest,
    sequences: Sequence[EventSequence],
    functions: Sequence[Sequence[Function]],
    columns: EventColumns,
    emit: Emit,
) -> tuple[list[Moments], Operations] | None:
    """Return the rows of each sequence, and the operations with the groups.

    Args:
        functions: The aggregates of each; `can_share` must accept them.

    Returns:
        None if an integer might exceed 64 bits.

    Raises:
        PatternError: A column has values that its function cannot take.
    """
    lanes = []
    for sequence, function in zip(sequences, functions, strict=True):
        places = {event.variable: p for p, event in enumerate(sequence.positive, 1)}
        accumulators = lanes_of(function, places, columns)
        if accumulators is None:
            return None
        lanes.append(accumulators)
    slots = _slots(forest)
    operations, lost = _operations(forest, sequences[0], columns, slots)
    if not _fits(forest, sequences, lanes, operations, slots, emit):
        return None
    windows = [sequence.window for sequence in sequences]
    events = [(node, absent) for node, absent, _ in slots]
    return run(forest, windows, lanes, operations, lost, events, emit), operations


def _slots(forest: Forest) -> list[tuple[int, bool, Spec]]:
    """Return (node, whether absent after it, kind) of all events of a forest, in their order.

    Deeper nodes come first, and the events that must be absent after a node before the node.
    """
    events: list[tuple[int, int, bool, Spec]] = []
    for number, node in enumerate(forest.nodes):
        events.append((-2 * node.depth, number, False, node.position.event))
        events += [(-2 * node.depth - 1, number, True, s) for s in node.position.absent]
    events.sort(key=lambda event: event[0])
    return [event[1:] for event in events]


def _operations(
    forest: Forest,
    sequence: EventSequence,
    columns: EventColumns,
    slots: Sequence[tuple[int, bool, Spec]],
) -> tuple[Operations, Bits]:
    """Return the operations, and for each key whether it is the pseudo-key."""
    specs = [spec for _, _, spec in slots]
    names = [f"{slot}" for slot in range(len(slots))]
    positive = replace(
        sequence,
        filters=tuple((n, s.filters) for n, s in zip(names, specs, strict=True) if s.filters),
        keys=tuple(
            tuple((name, spec.keys[k]) for name, spec in zip(names, specs, strict=True))
            for k in range(len(specs[0].keys))
        ),
    )
    ends = {forest.chains[chain].end for chain in forest.of}
    triggers = {slot for slot, (node, absent, _) in enumerate(slots) if node in ends and not absent}
    events = [
        (slot, Event(name, spec.types))
        for slot, (name, spec) in enumerate(zip(names, specs, strict=True))
    ]
    return operations_in(positive, columns, 0, events, triggers)


def _fits(
    forest: Forest,
    sequences: Sequence[EventSequence],
    lanes: Sequence[Lanes],
    operations: Operations,
    slots: Sequence[tuple[int, bool, Spec]],
    emit: Emit,
) -> bool:
    """Return whether 64 bits hold every number: the pieces of a chain multiply."""
    windows = [s.window for s in sequences]
    most = prefix_bounds(
        operations.ts,
        operations.codes,
        operations.starts,
        np.array([node for node, _, _ in slots], dtype=np.int64),
        np.array([absent for _, absent, _ in slots], dtype=np.bool_),
        np.array(parents_of(forest), dtype=np.int64),
        -1 if windows[0] is None else max(w for w in windows if w is not None),
    )
    triggers = len(operations) if emit == "total" else 1
    greatest = max(each.greatest for each in lanes)
    for number in forest.of:
        product = triggers * greatest
        chain: int | None = number
        while chain is not None:
            product *= max(1.0, most[forest.chains[chain].end])
            chain = forest.chains[chain].before
        if product >= SAFE:
            return False
    return bool((most * greatest < SAFE).all())
