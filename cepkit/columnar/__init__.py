"""The engine that data goes through: partial matches as columns of row numbers.

A branch and an order become a `Program` (program.py), the program is bound to the columns of a
slice (binding.py), and the bound steps run over it in chunks (run.py); the inner loops are
compiled (compiled.py), written for one query where its conditions demand it (generated.py), or
plain NumPy (plain.py). algorithms.md, section 7.
"""
