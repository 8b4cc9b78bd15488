"""The engine that data goes through: partial matches as columns of row numbers.

A branch and an order become a program (compiler.py, program.py), the program is bound to the
events of a slice (candidates.py, binding.py), and the bound steps run over it in chunks (run.py,
join.py). The inner loops are compiled (compiled.py), written for one step where its conditions
demand it (generated.py), or plain NumPy (plain.py). docs/architecture.md tells the whole way.
"""
