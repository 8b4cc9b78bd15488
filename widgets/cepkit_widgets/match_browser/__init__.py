"""Matches to look at: a table of any length, and each match in time among the events around it."""
