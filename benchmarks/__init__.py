"""The benchmarks of cepkit: `python -m benchmarks`, or one of the modules alone.

Speed is never asserted in a test. Each benchmark prints a table with its targets and writes it as
CSV; read ratios inside one table, for machines differ and are shared.
"""
