"""Aggregation of several sequences that share counters: planned, laid out and run."""
