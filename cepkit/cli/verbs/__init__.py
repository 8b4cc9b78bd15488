"""The verbs of the command `cepkit`: each is a module here, and its line in the table.

A module has `options`, which adds what its command line takes to a parser, and `run`, which does
what the parsed arguments say. It is loaded when its verb is called.
"""

from collections.abc import Mapping
from types import MappingProxyType

VERBS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "the whole job on made-up stock trades, explained step by step",
        "profile": "measure the rates and selectivities that plans depend on",
        "plan": "compare the plans that the planners find, and choose one",
        "detect": "find the matches of a pattern, or of several in one pass",
        "simulate": "run the published mechanisms event by event, and count what they do",
        "aggregate": "count and add up the matches of a pattern, without finding them if possible",
    }
)
"""What each verb does, by its name; the module of `my-verb` is `my_verb`."""
