"""Learning: patterns that are proposed from a stream and its incidents.

`training.py` lays out the events to learn from, `candidate.py` is a pattern as the search sees it,
`rows.py` has its possible matches, `conditions.py` the curves of what could narrow it, `search.py`
is the beam search, and `result.py` the answer.
"""
