"""skip-till-next-match: every event is in at most one match."""
