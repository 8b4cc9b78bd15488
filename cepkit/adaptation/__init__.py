"""Adaptation: plans that follow the stream.

`decisions/` is the shelf of decision functions, which say when to replan. `loop.py` is one step of
detection and adaptation as a pure function; `slices.py` plans each slice of a stream in memory.

The loop and the invariants follow *Efficient Adaptive Detection of Complex Event Patterns*, a
granted patent (US 11,693,862 B2). cepkit adds and changes the following: each slice of a stream is
planned by its own statistics before it runs, without a decision function, without invariants and
without an order between slices (`adapt="slices"`); plans are compared by the engine's work. A
static plan (`adapt="static"`) uses nothing of this package.
"""

from importlib import import_module
from typing import Any
from warnings import warn

from cepkit.adaptation.decisions import (
    DECISIONS,
    Decision,
    Invariants,
    Static,
    Threshold,
    Unconditional,
)
from cepkit.adaptation.loop import Adaptation, InForce

__all__ = [
    "DECISIONS",
    "Adaptation",
    "Decision",
    "InForce",
    "Invariants",
    "Static",
    "Threshold",
    "Unconditional",
]


def __getattr__(name: str) -> Any:
    if name not in ("AdaptedTrace", "Generation"):
        raise AttributeError(f"module 'cepkit.adaptation' has no attribute '{name}'")
    change = f"cepkit.adaptation.{name} is an old name: write cepkit.tracing.{name}"
    warn(f"{change} (the next release of cepkit removes it)", DeprecationWarning, stacklevel=2)
    return getattr(import_module("cepkit.tracing"), name)
