"""Aggregates as lanes of 64-bit numbers, which compiled loops carry along the prefixes.

Besides the number of matches there are three kinds of lanes. An integer lane adds integers exactly:
sums, and numbers of values. A float lane adds floats. A least lane keeps the minimum of integers
that encode the order of any values: floats by their bits, texts by their dictionary, and for MAX
the complement. So three inner loops serve all functions of the language. Integers wrap around at 64
bits; `sequence/bounds.py` tells beforehand whether a result could.
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
"""Numbers up to here fit, even with rounding errors in their bound."""


@dataclass(frozen=True, eq=False, slots=True)
class Lanes:
    """The accumulators that loops carry besides the number of matches.

    Attributes:
        int_at: The position of each integer lane.
        ints: Its value at each event, 0 if missing.
        float_at: The position of each float lane.
        floats: As `ints`.
        least_at: The position of each least lane.
        leasts: As `ints`, `NOTHING` if missing.
        outcomes: For each function how to compute its result.
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
        """All lanes, in the form of the loops."""
        return LaneArrays(
            self.int_at, self.ints, self.float_at, self.floats, self.least_at, self.leasts
        )

    @property
    def empty(self) -> bool:
        """Whether no lane is needed besides the number of matches."""
        return self.only_integers and not len(self.int_at)

    @property
    def only_integers(self) -> bool:
        """Whether all lanes can be subtracted exactly."""
        return not len(self.float_at) and not len(self.least_at)

    @property
    def greatest(self) -> float:
        """The greatest magnitude in an integer lane, at least 1."""
        low, high = self.ints.min(initial=0), self.ints.max(initial=0)
        return max(1.0, -float(low), float(high))

    @property
    def greatest_float(self) -> float:
        """The greatest finite magnitude in a float lane."""
        return float(np.abs(self.floats[np.isfinite(self.floats)]).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How to compute the result of an aggregate from lanes.

    Attributes:
        lanes: ("int" | "float" | "least", which) of each of its accumulators.
        present: The integer lane that counts values; None: each match has one.
        column: The attribute; None if it does not matter.
        origin: The origin of deviations.
    """

    function: LanguageFunction
    lanes: tuple[tuple[str, int], ...]
    present: int | None
    column: Column | None
    origin: float = 0

    def held(self, tracks: Tracks) -> tuple[npt.NDArray[Any], list[npt.NDArray[Any]]]:
        """Return the number of values at each moment, and the accumulators.

        A least value is coded (`decoded`).
        """
        number = tracks.counts if self.present is None else tracks.ints[self.present]
        of = {"int": tracks.ints, "float": tracks.floats, "least": tracks.leasts}
        return number, [of[kind][lane] for kind, lane in self.lanes]


def joined(several: Sequence[Tracks]) -> Tracks:
    """Concatenate the moments of several."""
    return Tracks(
        np.concatenate([each.counts for each in several]),
        np.concatenate([each.ints for each in several], axis=1),
        np.concatenate([each.floats for each in several], axis=1),
        np.concatenate([each.leasts for each in several], axis=1),
    )


def tracks_for(lanes: Lanes, moments: int) -> Tracks:
    """Return empty tracks."""
    return Tracks(
        np.zeros(moments, dtype=np.int64),
        np.zeros((len(lanes.int_at), moments), dtype=np.int64),
        np.zeros((len(lanes.float_at), moments), dtype=np.float64),
        np.full((len(lanes.least_at), moments), NOBODY, dtype=np.int64),
    )


def attribute_of(function: Function, columns: EventColumns) -> Column | None:
    """Return the column that a function of the language reads; None if it reads none.

    Raises:
        PatternError: The function cannot take its values, as SUM of a text.
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
    """Return the lanes that some functions need; None if loops cannot carry one of them.

    Args:
        positions: The position of each variable, counted from 1.
        partial: Variables that may have no event, or several, in a match.

    Raises:
        PatternError: A column has values that its function cannot take.
    """
    builder = _LanesBuilder(columns)
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


class _LanesBuilder:
    """Collects distinct lanes."""

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
                return None  # an integer too large to leave room for the two marks
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
    """Return values as integers in the same order, or in the opposite order for MAX."""
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
    """Convert accumulators of deviations from `origin` to deviations from 0, exactly."""
    if "deviations" not in state:
        return tuple(values)
    known = {each: exact(value) for each, value in zip(state, values, strict=True)}
    by, deviations = exact(origin), known["deviations"]
    known["deviations"] = deviations + number * by
    if "squares" in known:
        known["squares"] += 2 * by * deviations + number * by * by
    return tuple(known.values())


def decoded(column: Column | None, accumulator: Accumulator, coded: Wide) -> npt.NDArray[Any]:
    """Decode the values of a least lane; arbitrary where there is no value."""
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
