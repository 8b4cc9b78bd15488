"""The verbs of the command `cepkit`: each is a module here, and its line in the table.

A module has `options`, which adds what its command line takes to a parser, and `run`, which does
what the parsed arguments say. It is loaded when its verb is called.
"""

from collections.abc import Mapping
from types import MappingProxyType

VERBS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "the whole job on made-up stock trades, explained step by step",
        "profile": "what is in a stream; with a pattern, the rates and selectivities for plans",
        "check": "check patterns, by themselves or against the columns and types of events",
        "plan": "compare the plans that the planners find, and choose one",
        "detect": "find the matches of a pattern, or of several in one pass",
        "explain": "what each step of a plan was expected to do, and did",
        "why-not": "why there is no match, or why some events are none, and what comes nearest",
        "simulate": "run the published mechanisms event by event, and count what they do",
        "aggregate": "count and add up the matches of a pattern, without finding them if possible",
        "completion": "print what makes bash, zsh or fish complete these commands",
    }
)
"""What each verb does, by its name; the module of `my-verb` is `my_verb`."""
