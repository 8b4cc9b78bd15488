"""Prefix counting step by step, as data."""
