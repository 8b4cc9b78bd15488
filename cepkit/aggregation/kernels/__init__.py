"""Compiled loops over operations."""
