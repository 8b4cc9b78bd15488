"""The columnar engine: partial matches are columns of row numbers.

`compile/` compiles a branch and a plan to a program, `slices/` binds it to the events of a slice,
`join/` and `kleene/` run its steps with the loops of `kernels/`, `detector.py` goes from slice to
slice, `skip_till_next/` has the search of that strategy, and `results/` holds the results for
users. See docs/architecture.md for the whole picture.
"""
