"""Branches compiled for evaluation event by event."""
