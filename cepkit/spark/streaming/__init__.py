"""Patterns over streaming DataFrames: the events of the last window are the state."""
