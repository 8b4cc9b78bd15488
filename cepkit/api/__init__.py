"""The public functions: each checks its arguments and calls the part that does the work.

What goes in
    `events` makes a stream of a DataFrame, a table or a file, `parse` a query of a text;
    `register_function` adds to the language; `sample_stocks` and `sample_clicks` are made up.
Before anything runs
    `profile` measures a stream; `choose_plan` plans by what was measured, `share_plans` several
    patterns together; `compare_plans`, `compare_shared_plans`, `weigh_plans` and `what_if` set
    plans side by side; `pattern_graph` says what patterns have in common.
Matches
    `detect` finds them; `check_detectable` refuses, at no cost, what it cannot do.
    `from_match_recognize` runs a query in SQL.
Aggregates of matches
    `aggregate` gives them without the matches, where that can be.
Event by event
    `simulate` runs a published mechanism, `aggregate_trace` counts by prefixes.
Why
    `why_not` says what is missing to a match; `draw` makes a figure of any result.
"""

from cepkit.api.aggregating import aggregate as aggregate
from cepkit.api.detecting import check_detectable as check_detectable
from cepkit.api.detecting import detect as detect
from cepkit.api.explaining import draw as draw
from cepkit.api.explaining import why_not as why_not
from cepkit.api.inputs import events as events
from cepkit.api.inputs import parse as parse
from cepkit.api.inputs import register_function as register_function
from cepkit.api.inputs import sample_clicks as sample_clicks
from cepkit.api.inputs import sample_stocks as sample_stocks
from cepkit.api.planning import choose_plan as choose_plan
from cepkit.api.planning import compare_plans as compare_plans
from cepkit.api.planning import compare_shared_plans as compare_shared_plans
from cepkit.api.planning import pattern_graph as pattern_graph
from cepkit.api.planning import profile as profile
from cepkit.api.planning import share_plans as share_plans
from cepkit.api.planning import weigh_plans as weigh_plans
from cepkit.api.planning import what_if as what_if
from cepkit.api.row_patterns import from_match_recognize as from_match_recognize
from cepkit.api.tracing import aggregate_trace as aggregate_trace
from cepkit.api.tracing import simulate as simulate
from cepkit.stream.stream import Stream as Stream
