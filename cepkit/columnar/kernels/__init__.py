"""Loops that know nothing of a query, and the numbers that loops compute in."""
