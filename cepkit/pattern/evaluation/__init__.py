"""The meaning of conditions: functions, operators, and all ways to evaluate them.

One table (`functions/`) says of each function and operator what it takes, what it gives, and how it
is computed. Type checks (`kind_checks.py`), columns (`columns.py`), closures over one binding
(`closures.py`) and the source of loops (`source.py`) all come of it.
"""
