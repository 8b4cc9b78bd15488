"""The columnar engine: partial matches are columns of row numbers.

`compile/` makes a program of a branch and a plan, `slices/` binds it to the events of a slice,
`join/` and `kleene/` run its steps with the loops of `kernels/`, `detector.py` goes from slice to
slice, `skip_till_next/` is the one strategy that needs a search of its own, and `results/` is what
a user gets. docs/architecture.md tells the whole way.
"""
