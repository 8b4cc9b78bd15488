"""Aggregates as lanes of 64-bit numbers, which compiled loops carry along the prefixes.

Beside the number of matches there are three kinds of lanes. An integer lane adds whole numbers,
exactly: sums, and how many values there are. A float lane adds floats. A least lane keeps the
smallest of integers in which the order of any values is coded: floats by their bits, texts by their
dictionary, and for MAX the complement. So all functions of the language are three inner loops.
Integers wrap around at 64 bits; `sequence/bounds.py` says beforehand whether any result could.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import NOBODY, NOTHING, LaneArrays, Tracks
from cepkit.aggregation.semirings.functions import Count, Function, LanguageFunction, OfValues
from cepkit.errors import PatternError
from cepkit.pattern.aggregates.columns import addends, origin_of
from cepkit.pattern.aggregates.contract import EXTREMES, TAKES, Accumulator, exact
from cepkit.pattern.evaluation.kinds import word
from cepkit.stream.columns import Column, EventColumns

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SAFE = 2.0**62
"""Numbers up to here fit, whatever the rounding of their bound."""


@dataclass(frozen=True, eq=False, slots=True)
class Lanes:
    """The accumulators that loops carry beside the number of matches.

    Attributes:
        int_at: The position of each integer lane.
        ints: Its value at each event, 0 where there is none.
        float_at: The position of each float lane.
        floats: As `ints`.
        least_at: The position of each least lane.
        leasts: As `ints`, `NOTHING` where there is none.
        outcomes: For each function how its result is read off.
    """

    int_at: Ints
    ints: Wide
    float_at: Ints
    floats: Floats
    least_at: Ints
    leasts: Wide
    outcomes: tuple[Outcome, ...]

    @property
    def arrays(self) -> LaneArrays:
        """All of it, as loops take it."""
        return LaneArrays(
            self.int_at, self.ints, self.float_at, self.floats, self.least_at, self.leasts
        )

    @property
    def empty(self) -> bool:
        """Whether the number of matches is all."""
        return self.only_integers and not len(self.int_at)

    @property
    def only_integers(self) -> bool:
        """Whether everything can be subtracted again, exactly."""
        return not len(self.float_at) and not len(self.least_at)

    @property
    def greatest(self) -> float:
        """The greatest magnitude in an integer lane, at least 1."""
        low, high = self.ints.min(initial=0), self.ints.max(initial=0)
        return max(1.0, -float(low), float(high))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the result of an aggregate is computed from lanes.

    Attributes:
        lanes: ("int" | "float" | "least", which) of each of its accumulators.
        present: The integer lane that counts values; None: each match has one.
        column: The attribute, None where it does not matter.
        origin: What deviations are from.
    """

    function: LanguageFunction
    lanes: tuple[tuple[str, int], ...]
    present: int | None
    column: Column | None
    origin: float = 0

    def held(self, tracks: Tracks) -> tuple[npt.NDArray[Any], list[npt.NDArray[Any]]]:
        """Return how many values there are at each moment, and the accumulators.

        A least value is coded (`decoded`).
        """
        number = tracks.counts if self.present is None else tracks.ints[self.present]
        of = {"int": tracks.ints, "float": tracks.floats, "least": tracks.leasts}
        return number, [of[kind][lane] for kind, lane in self.lanes]


def joined(several: Sequence[Tracks]) -> Tracks:
    """Return the moments of all, one behind the other."""
    return Tracks(
        np.concatenate([each.counts for each in several]),
        np.concatenate([each.ints for each in several], axis=1),
        np.concatenate([each.floats for each in several], axis=1),
        np.concatenate([each.leasts for each in several], axis=1),
    )


def tracks_for(lanes: Lanes, moments: int) -> Tracks:
    """Return tracks to be filled."""
    return Tracks(
        np.zeros(moments, dtype=np.int64),
        np.zeros((len(lanes.int_at), moments), dtype=np.int64),
        np.zeros((len(lanes.float_at), moments), dtype=np.float64),
        np.full((len(lanes.least_at), moments), NOBODY, dtype=np.int64),
    )


def attribute_of(function: Function, columns: EventColumns) -> Column | None:
    """Return the column that a function of the language reads, None for none.

    Raises:
        PatternError: It holds what the function cannot take, as SUM of a text.
    """
    if not isinstance(function, OfValues) or function.attribute is None:
        return None
    column = columns.attributes[function.attribute]
    if function.definition.accepts(column.kind):
        return column
    raise PatternError(
        f"{function.name.upper()}({function.variable}.{function.attribute}), "
        f"which is {word(column.kind)}",
        expected=TAKES[function.definition.takes],
    )


def lanes_of(
    functions: Sequence[Function],
    positions: Mapping[str, int],
    columns: EventColumns,
    partial: Collection[str] = (),
) -> Lanes | None:
    """Return the lanes that some functions need; None where loops cannot carry one of them.

    Args:
        positions: The position of each variable, counted from 1.
        columns: The stream, with the attributes that are read.
        partial: Variables of which a match may have no event, or several.

    Raises:
        PatternError: A column holds what its function cannot take.
    """
    builder = _Builder(columns)
    outcomes = []
    for function in functions:
        column = attribute_of(function, columns)
        if isinstance(function, Count):
            outcomes.append(Outcome(function, (), None, None))
            continue
        if not isinstance(function, OfValues):
            return None
        at = positions[function.variable]
        present = builder.present(at, column, always=function.variable in partial)
        lanes = []
        origin = 0.0
        if function.definition.state:
            assert column is not None
            origin = origin_of(column) if "deviations" in function.definition.state else 0.0
            for accumulator in function.definition.state:
                lane = builder.lane(accumulator, at, column, origin)
                if lane is None:
                    return None
                lanes.append(lane)
        outcomes.append(Outcome(function, tuple(lanes), present, column, origin))
    return builder.lanes(tuple(outcomes))


class _Builder:
    """Gathers lanes, each once."""

    def __init__(self, columns: EventColumns) -> None:
        self._size = len(columns)
        self._known: dict[tuple[Any, ...], int] = {}
        self._lanes: dict[str, list[tuple[int, npt.NDArray[Any]]]] = {
            "int": [], "float": [], "least": [],
        }  # fmt: skip

    def present(self, at: int, column: Column | None, *, always: bool) -> int | None:
        missing = None
        if column is not None and (column.has_missing or column.kind == "null"):
            missing = column.missing()
        if missing is None and not always:
            return None
        values = np.ones(self._size, np.int64) if missing is None else (~missing).astype(np.int64)
        return self._add("int", at, ("present", None if missing is None else id(column)), values)

    def lane(
        self, accumulator: Accumulator, at: int, column: Column, origin: float
    ) -> tuple[str, int] | None:
        if accumulator in EXTREMES:
            missing = column.missing() if column.has_missing or column.kind == "null" else None
            coded = _ordered(column, greatest=accumulator == "greatest")
            some = coded if missing is None else coded[~missing]
            if len(some) and int(some.max()) >= NOTHING:
                return None  # an integer beyond what leaves room for the two marks
            if missing is not None:
                coded = np.where(missing, NOTHING, coded)
            return "least", self._add("least", at, (accumulator, id(column)), coded)
        values = addends(accumulator, column, origin)
        if values is None:
            return None
        kind = "int" if column.kind == "integer" else "float"
        return kind, self._add(kind, at, (accumulator, id(column)), values)

    def _add(self, kind: str, at: int, what: tuple[Any, ...], values: npt.NDArray[Any]) -> int:
        lanes = self._lanes[kind]
        number = self._known.setdefault((kind, at, *what), len(lanes))
        if number == len(lanes):
            lanes.append((at, values))
        return number

    def lanes(self, outcomes: tuple[Outcome, ...]) -> Lanes:
        return Lanes(
            *self._stacked("int", np.int64),
            *self._stacked("float", np.float64),
            *self._stacked("least", np.int64),
            outcomes,
        )

    def _stacked(self, kind: str, dtype: type) -> tuple[Ints, npt.NDArray[Any]]:
        lanes = self._lanes[kind]
        if len(lanes) == 1:  # as it is, without a copy
            at, only = lanes[0]
            return np.array([at], dtype=np.int32), np.ascontiguousarray(only, dtype=dtype)[None]
        values: npt.NDArray[Any] = np.empty((len(lanes), self._size), dtype=dtype)
        for number, (_, each) in enumerate(lanes):
            values[number] = each
        return np.array([at for at, _ in lanes], dtype=np.int32), values


def _ordered(column: Column, *, greatest: bool) -> Wide:
    """Return values as integers in the same order, in the opposite one for MAX."""
    values: npt.NDArray[Any] = column.values
    coded: Wide
    if column.kind in ("float", "null"):
        bits = (values + 0.0).view(np.int64)  # no -0.0
        coded = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    else:
        coded = values.astype(np.int64)
    return ~coded if greatest else coded


def moved(
    state: Sequence[Accumulator], number: int, values: Sequence[Any], origin: float
) -> tuple[Any, ...]:
    """Return accumulators with deviations from 0 in place of `origin`, exactly."""
    if "deviations" not in state:
        return tuple(values)
    known = {each: exact(value) for each, value in zip(state, values, strict=True)}
    by, deviations = exact(origin), known["deviations"]
    known["deviations"] = deviations + number * by
    if "squares" in known:
        known["squares"] += 2 * by * deviations + number * by * by
    return tuple(known.values())


def decoded(column: Column | None, accumulator: Accumulator, coded: Wide) -> npt.NDArray[Any]:
    """Return the values that a least lane stands for; of what has none, anything."""
    assert column is not None
    if accumulator == "greatest":
        coded = ~coded
    if column.kind in ("float", "null"):
        bits = coded ^ ((coded >> 63) & np.int64(2**63 - 1))
        return bits.view(np.float64)
    if column.kind == "text":
        within = np.clip(coded, 0, max(0, len(column.dictionary) - 1))
        if not len(column.dictionary):
            return np.full(len(coded), None, dtype=object)
        return column.dictionary[within]
    return coded
