"""The figures of traces: the player, counters over the steps, diagrams."""

from cepkit.figures.player import Player as Player
from cepkit.figures.register import Figure
from cepkit.figures.traces.counter_table import draw_counter_table
from cepkit.figures.traces.counters import draw_counters
from cepkit.figures.traces.mechanism import draw_mechanism
from cepkit.tracing import AdaptedTrace, CounterTrace, MechanismTrace, Trace

TRACE_FIGURES = (
    Figure("player", Trace, Player, "traces to play, step by step", "any number"),
    Figure("player", AdaptedTrace, Player, "generations of plans, side by side"),
    Figure("counters", Trace, draw_counters, "counters of traces by step", "any number"),
    Figure("diagram", MechanismTrace, draw_mechanism, "the mechanism of a trace"),
    Figure("diagram", CounterTrace, draw_counter_table, "the counters after one step"),
)
