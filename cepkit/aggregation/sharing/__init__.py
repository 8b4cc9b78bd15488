"""Aggregation of several sequences that share counters: planning, layout and execution."""
