"""A case of the fuzzer: a call that must work, or be refused with an error of cepkit.

Whatever else comes out of a case is a failure: another exception, an alarm because it took too
long, no memory.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pandas as pd

import cepkit as ck
from cepkit.errors import CepkitError, PlacedError


@dataclass(frozen=True)
class Case:
    """One thing to try.

    Attributes:
        told: What it is, for who looks into a failure.
        run: Does it; raises a CepkitError where that is refused.
    """

    told: str
    run: Callable[[], object]


def refused(case: Case) -> CepkitError | None:
    """Run a case; return the error that refused it, None where it worked.

    Raises:
        AssertionError: The error is none that helps.
    """
    try:
        case.run()
    except CepkitError as error:
        message = str(error)
        assert error.found
        assert len(message) < 20_000, f"a message of {len(message):,} characters"
        error._render_traceback_()
        if isinstance(error, PlacedError) and error.span is not None:
            span = error.span
            assert 0 <= span.start <= len(span.text), span
        return error
    return None


def look_at(thing: Any) -> None:
    """Show a result in all the ways in which a notebook and a terminal would."""
    str(thing)
    repr(thing)
    if hasattr(thing, "_repr_html_"):
        thing._repr_html_()


_L = 2**62 - 1
_FRAMES = {
    "plain": (0, 1, 1, 2, 3, 3, 5, 8, 9, 13),
    "equal": (7,) * 10,
    "backwards": tuple(range(10, 0, -1)),
    "far": (-_L, -_L + 1, -1, 0, 1, 2, _L - 2, _L - 1, _L, _L),
    "empty": (),
}


@cache
def streams() -> tuple[Any, ...]:
    """Return some tiny streams with attributes of every kind."""
    return tuple(_stream(times) for times in _FRAMES.values())


def _stream(times: tuple[int, ...]) -> Any:
    def column(*values: Any) -> list[Any]:
        return [values[i % len(values)] for i in range(len(times))]

    frame = pd.DataFrame(
        {
            "ts": np.array(times, dtype=np.int64),
            "type": pd.Series(column("A", "B", "C", "A b"), dtype=str),
            "x": np.array(column(0, 1, 2, 3, 2**63 - 1, -(2**63) + 1), dtype=np.int64),
            "y": np.array(column(0.5, np.nan, -1.0, np.inf, 1e308), dtype=np.float64),
            "s": pd.Series(column("a", "b", None, "é"), dtype=object),
            "k": np.array(column(0, 1), dtype=np.int64),
            "f": pd.Series(column(True, False, None), dtype="boolean"),
            "h": pd.Series(column([1.0, 2.0], [2.0, 1.0, 3.0], None), dtype=object),
            "t": pd.Series(
                pd.to_datetime(column("2024-01-01", None, "1677-09-22", "2262-01-01"), utc=True)
            ),
        }
    )
    return ck.events(frame, time="ts", type="type", unit="us")


HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 10**5000, 0.0, -0.0,
    0.5, -1.5, 1e-300, 1e300, float("nan"), float("inf"), float("-inf"), 1j, "", " ", "a", "x",
    "\0", "\ud800", "é" * 300, "~nosuchuser/x", "/", "..", "PATTERN A a", "auto", "greedy", b"",
    b"x", (), ("a",), ("a", "b"), [], ["a"], ["b", "a"], [None], [[]], {}, {"a": 1}, {"x"},
    object(), type, int, len, ..., np.int64(3), np.float64("nan"), np.array([1, 2]),
    np.datetime64("2024-01-01"), pd.NA, pd.NaT, pd.DataFrame(), pd.Series([1]), range(3),
    io.StringIO("x"),
)  # fmt: skip


class Rude:
    """An object that cannot even be shown, or compared."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no ==")

    def __bool__(self) -> bool:
        raise RuntimeError("no bool")

    __hash__ = None  # type: ignore[assignment]


def hostile(random: Random) -> Any:
    """Return a value that nobody should give to anything."""
    return Rude() if random.random() < 0.02 else random.choice(HOSTILE)
