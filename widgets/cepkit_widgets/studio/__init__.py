"""The studio: a pattern, its data, matches, plans, steps and reasons on one page."""
