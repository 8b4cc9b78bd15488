"""Traces of mechanisms and of prefix counters, event by event.

A trace is a value: what it is a trace of records it. `docs/trace.md` has its JSON.
"""

from typing import TypeAlias

from cepkit.tracing import printer as printer
from cepkit.tracing.counters import CounterTrace
from cepkit.tracing.mechanisms import MechanismTrace
from cepkit.tracing.trace import Trace

__all__ = ["AnyTrace", "CounterTrace", "MechanismTrace", "Trace"]

AnyTrace: TypeAlias = MechanismTrace | CounterTrace
"""All kinds of traces."""
