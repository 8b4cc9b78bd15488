"""Groups that repeat, `KL(SEQ(A a, B b)){2,5}`, unrolled to a choice among numbers of repetitions.

Each repetition has variables of its own: `a[1]`, `b[1]`, `a[2]` ... Conditions on `a` and `b` stay
as written; the normal form writes them for the repetitions (`repetitions.py`).
"""
