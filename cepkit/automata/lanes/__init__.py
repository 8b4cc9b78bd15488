"""Lanes: the evaluation of one branch in one partition, with buffers, instances and counters."""
