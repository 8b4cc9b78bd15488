"""Teaching: whether two patterns are equivalent, by counterexamples.

`equivalence.py` searches small streams (`small_streams.py`), drawn from the values at which the
conditions of patterns change their truth (`domains.py`).
"""

from cepkit.teaching.equivalence import Equivalence, equivalent

__all__ = ["Equivalence", "equivalent"]
