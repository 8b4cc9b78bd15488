"""Loops that know nothing of a query."""
