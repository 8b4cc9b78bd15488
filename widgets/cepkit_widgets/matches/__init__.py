"""Matches as apps show them: known so far, looked at closely, in time, as a table."""
