"""Counts several sequences at once, as a forest of their pieces says.

What comes back are the rows of each sequence, the same as if it had been counted by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cepkit.aggregation import prefix_tree_loops, shared_loops
from cepkit.aggregation.elements import Emit
from cepkit.aggregation.lanes import SAFE, Lanes, Tracks, prefix_bounds
from cepkit.aggregation.moments import Moments
from cepkit.aggregation.operations import Operations, operations_in, passing
from cepkit.aggregation.running import finished, wants_expiries
from cepkit.aggregation.sequence import EventSequence
from cepkit.aggregation.shared_plan import Forest, Position, Spec
from cepkit.aggregation.sharing import Rates
from cepkit.pattern.nodes import Event
from cepkit.stream.columns import EventColumns

Wide = npt.NDArray[np.int64]


def rates_of(
    positions: Sequence[Sequence[Position]], windows: Sequence[int | None], columns: EventColumns
) -> Rates:
    """Return the rates of all kinds of events in a stream.

    Args:
        positions: The positions of each sequence.
        windows: Their windows, in microseconds.
        columns: The stream, with the attributes that they read.
    """
    kinds = {spec for each in positions for place in each for spec in (place.event, *place.absent)}
    span = float(columns.ts[-1] - columns.ts[0]) / 1e6 if len(columns) else 0.0
    rates = {
        spec: int(passing(columns, Event("_", spec.types), spec.filters).sum()) / (span or 1.0)
        for spec in kinds
    }
    known = [window for window in windows if window is not None]
    return Rates(rates, max(known) / 1e6 if known else None)


def aggregate(
    forest: Forest,
    sequences: Sequence[EventSequence],
    lanes: Sequence[Lanes],
    columns: EventColumns,
    emit: Emit,
) -> tuple[list[Moments], Operations] | None:
    """Return the rows of each sequence, and the operations that groups are told of.

    Args:
        forest: What is shared.
        sequences: Sequences of one cluster.
        lanes: Of each the lanes, which are empty.
        columns: The stream.
        emit: Which rows.

    Returns:
        None where a number might be beyond 64 bits.
    """
    # Deeper nodes first, then what must be absent after a node, then the node.
    events: list[tuple[int, int, bool, Spec]] = []
    for number, node in enumerate(forest.nodes):
        events.append((-2 * node.depth, number, False, node.position.event))
        events += [(-2 * node.depth - 1, number, True, s) for s in node.position.absent]
    events.sort(key=lambda event: event[0])
    names = [f"{slot}" for slot in range(len(events))]
    keys = tuple(tuple((name, key[0][1]) for name in names) for key in sequences[0].keys)
    whole = replace(
        sequences[0],
        filters=tuple(
            (name, spec.filters)
            for name, (_, _, _, spec) in zip(names, events, strict=True)
            if spec.filters
        ),
        keys=keys,
    )
    ends = {forest.chains[chain].end for chain in forest.of}
    triggers = {slot for slot, (_, node, no, _) in enumerate(events) if node in ends and not no}
    operations, lost = operations_in(
        whole,
        columns,
        0,
        [(slot, Event(names[slot], spec.types)) for slot, (_, _, _, spec) in enumerate(events)],
        triggers,
    )
    node_of = np.array([node for _, node, _, _ in events], dtype=np.int64)
    absent = np.array([no for _, _, no, _ in events], dtype=np.bool_)
    if not _fits(forest, sequences, operations, node_of, absent, emit):
        return None
    return _run(forest, sequences, lanes, operations, lost, node_of, absent, emit), operations


def _fits(
    forest: Forest,
    sequences: Sequence[EventSequence],
    operations: Operations,
    node_of: Wide,
    absent: npt.NDArray[np.bool_],
    emit: Emit,
) -> bool:
    """Return whether no count can be beyond 64 bits: the pieces of a chain multiply."""
    windows = [s.window for s in sequences]
    most = prefix_bounds(
        operations.ts,
        operations.codes,
        operations.starts,
        node_of,
        absent,
        _parents(forest),
        -1 if windows[0] is None else max(w for w in windows if w is not None),
    )
    triggers = len(operations) if emit == "total" else 1
    for number in forest.of:
        product = float(triggers)
        chain: int | None = number
        while chain is not None:
            product *= max(1.0, most[forest.chains[chain].end])
            chain = forest.chains[chain].before
        if product >= SAFE:
            return False
    return bool((most < SAFE).all())


def _parents(forest: Forest) -> Wide:
    return np.array([-1 if n.parent is None else n.parent for n in forest.nodes], dtype=np.int64)


def _run(
    forest: Forest,
    sequences: Sequence[EventSequence],
    lanes: Sequence[Lanes],
    operations: Operations,
    lost: npt.NDArray[np.bool_],
    node_of: Wide,
    absent: npt.NDArray[np.bool_],
    emit: Emit,
) -> list[Moments]:
    def numbers(values: Sequence[int]) -> Wide:
        return np.array(values, dtype=np.int64)

    trees = list(dict.fromkeys(node.tree for node in forest.nodes))
    links = forest.links
    chains = forest.chains
    ending = [
        [q for q, chain in enumerate(forest.of) if chains[chain].end == node]
        for node in range(len(forest.nodes))
    ]
    windows = [-1 if s.window is None else s.window for s in sequences]
    at_node = np.where(absent, -1, node_of)[operations.codes]
    triggers = [np.flatnonzero(at_node == chains[chain].end) for chain in forest.of]
    of_query = [replace(operations, window=s.window) for s in sequences]
    expiries = any(wants_expiries(each, emit) for each in of_query)
    starts = [int((at_node == chains[chain].tree).sum()) * expiries for chain in forest.of]
    begins = numbers([0, *np.cumsum([len(t) for t in triggers])])
    e_begins = numbers([0, *np.cumsum(starts)])
    new, count = np.zeros(begins[-1], np.int64), np.zeros(begins[-1], np.int64)
    op, left = np.zeros(e_begins[-1], np.int64), np.zeros(e_begins[-1], np.int64)
    written = np.zeros(len(sequences), np.int64)
    given = (
        operations.ts,
        operations.codes,
        operations.starts,
        lost,
        node_of,
        absent,
        _parents(forest),
        numbers([trees.index(node.tree) for node in forest.nodes]),
        len(trees),
        numbers([0, *np.cumsum([len(some) for some in ending])]),
        numbers([q for some in ending for q in some]),
    )
    connected = (
        numbers([chain.end for chain in chains]),
        numbers([_link(forest, number) for number in range(len(chains))]),
        numbers([trees.index(chain.tree) for chain in chains]),
        numbers([before for before, _ in links]),
        numbers([trees.index(tree) for _, tree in links]),
        numbers(forest.of),
    )
    out = (begins[:-1], new, count, e_begins[:-1], op, left, written)
    if links:
        shared_loops.run(*given, *connected, numbers(windows), expiries, *out)
    else:
        prefix_tree_loops.run(*given, numbers(windows), expiries, *out)
    found = []
    for q, each in enumerate(of_query):
        some = slice(begins[q], begins[q + 1])
        gone = slice(e_begins[q], e_begins[q] + written[q])
        shown = new[some] if emit in ("new", "total") else count[some]
        found.append(
            finished(
                each,
                lanes[q],
                triggers[q],
                new[some],
                _counts(shown),
                op[gone],
                _counts(left[gone]),
                emit,
            )
        )
    return found


def _link(forest: Forest, number: int) -> int:
    chain = forest.chains[number]
    if chain.before is None:
        return -1
    return forest.links.index((chain.before, forest.nodes[chain.end].tree))


def _counts(count: Wide) -> Tracks:
    size = len(count)
    whole = np.zeros((0, size), dtype=np.int64)
    return Tracks(count, whole, np.zeros((0, size), dtype=np.float64), whole)
