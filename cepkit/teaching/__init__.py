"""Teaching: whether two patterns are equivalent, by counterexamples, and exercises.

`equivalence.py` searches small streams (`small_streams.py`), drawn from the values at which the
conditions of patterns change their truth (`domains.py`).
`exercises/` has tasks that check their answers, one file for each kind.
"""

from cepkit.teaching.equivalence import Equivalence, equivalent

__all__ = ["Equivalence", "equivalent"]
