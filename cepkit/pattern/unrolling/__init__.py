"""Groups that repeat, `KL(SEQ(A a, B b)){2,5}`: written out, a choice of how often.

Each repetition has variables of its own, `a[1]`, `b[1]`, `a[2]` ..., as many as the choice says.
What a query says of `a` and `b` stays as it is written, and is said of these where branches are
made: what is about members of one repetition of each, functions of the whole set of all.
"""
