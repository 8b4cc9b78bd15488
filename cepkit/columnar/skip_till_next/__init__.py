"""skip-till-next-match: every event takes part in one match at most."""
