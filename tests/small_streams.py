"""All small streams, and patterns of every kind for them.

These are all streams of a few events at five moments that begin at the first moment and have each
type of the pattern; streams without a type, or with a later begin, are slices of these. A column
`g` numbers the streams, so one run covers all of them, by GROUP BY or PARTITION BY.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import pyarrow as pa
import pytest

from cepkit.aggregation.sequence.elements import Emit
from cepkit.pattern.parsing.parser import parse
from cepkit.routes.aggregates import aggregate
from cepkit.routes.functions import functions_of
from cepkit.stream.stream import events
from tests.aggregates import Row, rows_in

MOMENTS = range(5)

STRUCTURES = (
    "SEQ(A p, B q)",
    "AND(A p, B q)",
    "OR(A q, SEQ(A p, B r))",
    "SEQ(NOT(C n), A p, B q)",
    "SEQ(A p, NOT(C n), B q)",
    "SEQ(A p, B q, NOT(C n))",
    "AND(A q, NOT(C n))",
    "SEQ(A p, OR(NOT(C n), NOT(B m)), B q)",
    "KL(A q)",
    "SEQ(A p, KL(B q))",
    "SEQ(KL(A p), B q)",
    "AND(A p, KL(B q))",
    "SEQ(A p, KL(B q){2,2})",
    "SEQ(KL(A p), KL(B q))",
    "AND(KL(A p), KL(B q))",
    "SEQ(A p, AND(B q, KL(C r)))",
    "SEQ(A p, KL(B q), NOT(C n))",
    "SEQ(NOT(C n), A p, KL(B q))",
    "SEQ(KL(A p), NOT(C n), B q)",
    "OR(SEQ(A p, KL(B q)), SEQ(KL(C r), A s))",
)

_QUICK = {"SEQ(A p, B q)", "OR(A q, SEQ(A p, B r))", "SEQ(A p, NOT(C n), B q)", "SEQ(A p, KL(B q))"}
EACH = [
    structure if structure in _QUICK else pytest.param(structure, marks=pytest.mark.slow)
    for structure in STRUCTURES
]
"""The structures as parameters of tests, all but a few marked slow."""


def types_in(structure: str) -> str:
    """Return the types of a pattern."""
    return "".join(kind for kind in "ABC" if f"{kind} " in structure)


def small_streams(
    types: str, most: int, *, late: bool = False
) -> Iterator[Sequence[tuple[int, str]]]:
    """Yield streams: the moments and types of events in the order of arrival.

    Args:
        types: The types; each stream has all of them.
        most: The most events.
        late: Whether events may arrive out of time order.
    """
    for size in range(len(types), most + 1):
        orders = product(MOMENTS, repeat=size)
        if not late:
            orders = combinations_with_replacement(MOMENTS, size)
        for times in orders:
            for kinds in product(types, repeat=size):
                if not min(times) and len(set(kinds)) == len(types):
                    yield tuple(zip(times, kinds, strict=True))


def side_by_side(streams: Iterator[Sequence[tuple[int, str]]]) -> pa.Table:
    """Return streams as one, each a group; `x` is a power of two for each event of a group."""
    rows = [
        (place, moment * 1_000_000, kind, group, 1 << place)
        for group, stream in enumerate(streams)
        for place, (moment, kind) in enumerate(stream)
    ]
    _, ts, kinds, groups, x = zip(*sorted(rows), strict=True)
    return pa.table({"ts": ts, "kind": kinds, "g": groups, "x": x})


def de_bruijn(types: str, size: int) -> list[str]:
    """Return a list of types that has each sequence of `size` of them once."""
    row, seen = list(types[0] * (size - 1)), set()
    while True:  # append the last type that gives a new sequence
        for kind in reversed(types):
            if (one := (*row[len(row) - size + 1 :], kind)) not in seen:
                seen.add(one)
                row.append(kind)
                break
        else:
            return row


def aggregate_whole(
    table: pa.Table, pattern: str, emit: Emit, method: str = "auto"
) -> Counter[Row]:
    """Return the rows of a local stream."""
    query = parse(pattern)
    stream = events(table, time="ts", type="kind", unit="us")
    functions = functions_of(query, {})
    (rows,) = aggregate(stream, {"": query}, [functions], method, emit)
    return rows_in(rows.to_arrow(), query)
