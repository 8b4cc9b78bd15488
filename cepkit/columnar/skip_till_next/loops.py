"""Which loops skip-till-next-match runs: compiled ones, or Python without Numba."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from cepkit.columnar.kernels.backend import Loops
from cepkit.columnar.skip_till_next.walks import Walks

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class NextMatchLoops(Protocol):
    """The contract of `compiled.py` and `plain.py`."""

    def scan(
        self,
        walks: Walks,
        ts: Times,
        trigger_walks: Ints,
        trigger_at: Ints,
        trigger_rows: Ints,
        consumed: Flags,
        taken: Ints,
        taken_walks: Ints,
        looked: Times,
        removed: Times,
        memory: Ints,
        patience: int,
    ) -> tuple[int, int]:
        """Take the first match at each event that completes any."""
        ...

    def take_in_order(self, rows: Ints, order: Times, consumed: Flags, taken: Times) -> int:
        """Take each match all of whose events are free."""
        ...


class OfferLoops(Protocol):
    """The contract of `sets_compiled.py` and `sets_plain.py`."""

    def take_offers(
        self,
        begins: Times,
        slots: Ints,
        pool: Ints,
        lasts: Times,
        order: Times,
        arrival: Times,
        consumed: Flags,
        taken: Times,
        starts: Times,
        events: Ints,
    ) -> int:
        """Take at each event the first of its offers."""
        ...


def next_match_loops(loops: Loops) -> NextMatchLoops:
    """Return the loops that go with those of a backend."""
    chosen: Any
    if loops.compiled:
        from cepkit.columnar.skip_till_next import compiled as chosen
    else:
        from cepkit.columnar.skip_till_next import plain as chosen
    return cast("NextMatchLoops", chosen)


def offer_loops(loops: Loops) -> OfferLoops:
    """Return the same for offers with sets."""
    chosen: Any
    if loops.compiled:
        from cepkit.columnar.skip_till_next import sets_compiled as chosen
    else:
        from cepkit.columnar.skip_till_next import sets_plain as chosen
    return cast("OfferLoops", chosen)
