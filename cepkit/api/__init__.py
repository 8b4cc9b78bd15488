"""The verbs: what a user calls. Each checks its arguments and hands over to the part that knows.

What goes in
    `events` makes a stream of a DataFrame, a table or a file, `parse` a query of a text;
    `register_function` adds to the language; `sample_stocks` and `sample_clicks` are made up.
Before anything runs
    `profile` measures a stream; `choose_plan` plans by what was measured; `compare_plans`,
    `weigh_plans` and `what_if` set plans side by side.
Matches
    `detect` finds them; `check_detectable` refuses, at no cost, what it cannot do.
Aggregates of matches
    `aggregate` gives them without the matches, where that can be.
Event by event
    `simulate` runs a published mechanism, `aggregate_trace` counts by prefixes.
Why
    `why_not` says what is missing to a match; `draw` makes a figure of all that the others return.
"""

from cepkit.api.aggregating import aggregate
from cepkit.api.detecting import check_detectable, detect
from cepkit.api.explaining import draw, why_not
from cepkit.api.inputs import events, parse, register_function, sample_clicks, sample_stocks
from cepkit.api.planning import choose_plan, compare_plans, profile, weigh_plans, what_if
from cepkit.api.tracing import aggregate_trace, simulate
from cepkit.stream.stream import Stream

__all__ = [
    "Stream",
    "aggregate",
    "aggregate_trace",
    "check_detectable",
    "choose_plan",
    "compare_plans",
    "detect",
    "draw",
    "events",
    "parse",
    "profile",
    "register_function",
    "sample_clicks",
    "sample_stocks",
    "simulate",
    "weigh_plans",
    "what_if",
    "why_not",
]
