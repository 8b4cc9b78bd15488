"""Traces of mechanisms and of prefix counters, event by event.

A trace is a value, recorded by a mechanism or by counters. `docs/trace.md` describes its JSON.
"""

from typing import TypeAlias

from cepkit.tracing import printer as printer
from cepkit.tracing.counters import CounterTrace
from cepkit.tracing.generations import AdaptedTrace, Generation
from cepkit.tracing.mechanisms import MechanismTrace
from cepkit.tracing.trace import Trace

__all__ = ["AdaptedTrace", "AnyTrace", "CounterTrace", "Generation", "MechanismTrace", "Trace"]

AnyTrace: TypeAlias = MechanismTrace | CounterTrace
"""All kinds of traces."""
