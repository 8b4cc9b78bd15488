"""Names of pieces, events and keys in a trace of prefix counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.aggregation.sequence.operations import Operations
from cepkit.errors import PatternError, shown
from cepkit.stream.columns import EventColumns
from cepkit.tracing.events import CountedEvents, shown_attributes, shown_values


def pieces_of(sequence: EventSequence, pieces: Any) -> tuple[tuple[str, ...], ...]:
    """Return the variables of each piece.

    Args:
        sequence: The query.
        pieces: The pieces that the user gives, valid or not; None for one piece.

    Raises:
        PatternError: The pieces do not make up the sequence.
    """
    variables = tuple(event.variable for event in sequence.positive)
    if pieces is None:
        return (variables,)
    parts = pieces if isinstance(pieces, Sequence) else ("",)
    if isinstance(parts, str) or any(
        isinstance(p, str) or not isinstance(p, Sequence) for p in parts
    ):
        raise PatternError(
            f"plan={shown(pieces)} for prefix counters",
            expected="a list of the variables of each piece, as [['a', 'b'], ['c']]",
        )
    result = tuple(tuple(piece) for piece in pieces)
    if not all(result) or tuple(v for piece in result for v in piece) != variables:
        raise PatternError(
            f"the pieces {' | '.join(' '.join(piece) for piece in result)}",
            expected=f"all variables in their order, cut somewhere: {' '.join(variables)}",
        )
    return result


def traced_events(
    sequence: EventSequence, columns: EventColumns, rows: npt.NDArray[np.integer]
) -> CountedEvents:
    """Return the events of a trace.

    Args:
        sequence: The query.
        columns: The stream, with the attributes that the query reads.
        rows: Which events, in stream order.
    """
    names = _event_names(sequence, columns)
    return CountedEvents(
        tuple(columns.source_rows(rows).tolist()),
        tuple(columns.ts[rows].tolist()),
        tuple(columns.type_names[code] for code in columns.types[rows].tolist()),
        shown_attributes(columns, sorted(sequence.attributes), rows),
        tuple(names[row] for row in rows.tolist()),
    )


def key_names(
    sequence: EventSequence,
    columns: EventColumns,
    operations: Operations,
    keys: npt.NDArray[np.integer],
) -> tuple[str, ...]:
    """Return names of the operations' keys: "customer 17"."""
    rows = range(len(columns))
    values = {name: shown_values(columns.attributes[name], rows) for name in sequence.attributes}
    names = []
    for begin in operations.starts[keys].tolist():
        row = int(operations.rows[begin])
        kind = columns.type_names[columns.types[row]]
        equal = _equal(sequence, operations.length, int(operations.codes[begin]), kind)
        parts = [f"{name} {_text(values[name][row])}" for name in (*equal, *sequence.partition_by)]
        names.append(", ".join(dict.fromkeys(parts)))
    return tuple(names)


def _equal(sequence: EventSequence, length: int, code: int, kind: str) -> list[str]:
    """Return the attributes that make up the key of an event, by its operation."""
    position = length - (code + 1) // 2
    if code % 2:
        absent = (event for place, event in sequence.negated if place == position)
        event = next(e for e in absent if e.may_have(kind))
    else:
        event = sequence.positive[min(position, len(sequence.positive)) - 1]
    return [dict(key)[event.variable] for key in sequence.keys]


def _text(value: Any) -> str:
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _event_names(sequence: EventSequence, columns: EventColumns) -> list[str]:
    """Return a name for each event, as b2 for the second event of variable b's type."""
    variable_of: dict[str, str] = {}
    for event in (*sequence.positive, *(event for _, event in sequence.negated)):
        for name in columns.type_names if event.types is None else sorted(event.types):
            variable_of.setdefault(name, event.variable)
    counts: dict[str, int] = {}
    names = []
    for code in columns.types.tolist():
        kind = columns.type_names[code]
        word = variable_of.get(kind, kind)
        counts[word] = counts.get(word, 0) + 1
        # The second event of `a1` must not be called like the twelfth of `a`.
        names.append(f"{word}{'.' if word[-1:].isdigit() else ''}{counts[word]}")
    return names
