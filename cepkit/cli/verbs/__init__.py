"""The verbs of the command `cepkit`: each has a module here and a line in the table.

A module has `options`, which adds its options to a parser, and `run`, which runs the parsed
arguments. It is loaded when its verb is called.
"""

from collections.abc import Mapping
from types import MappingProxyType

VERBS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "run all steps on generated stock trades, and explain each of them",
        "profile": "describe a stream; with a pattern, measure rates and selectivities for plans",
        "check": "check patterns, alone or against the columns and types of events",
        "plan": "compare the plans of all planners, and choose one",
        "detect": "find the matches of a pattern, or of several in one pass",
        "explain": "compare the expected and the actual work of each step of a plan",
        "why-not": "explain why nothing matches, or why some events do not, and what comes closest",
        "calibrate": "count the matches for many values of a pattern's parameters",
        "learn": "propose patterns that announce incidents, from a file of them",
        "simulate": "run the published mechanisms event by event, and count their operations",
        "studio": "open one page for a pattern in a browser: its matches, plan and steps",
        "aggregate": "count and aggregate the matches of a pattern, often without finding them",
        "sort": "write events in the order of time, so that they need not fit into memory",
        "completion": "print a script that lets bash, zsh or fish complete these commands",
    }
)
"""The description of each verb by name; the module of `my-verb` is `my_verb`."""
