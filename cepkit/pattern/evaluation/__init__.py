"""The meaning of conditions: functions, operators, and all ways to evaluate them.

One table (`functions/`) defines each function and operator: the kinds it takes, the kind it gives,
and its computation. Type checks (`kind_checks.py`), columns (`columns.py`), closures over one
binding (`closures.py`) and the source of loops (`source.py`) all follow it.
"""
