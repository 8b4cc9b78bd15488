"""Joins of partial matches with further events, chunk by chunk."""
