"""Compiles a branch and a plan: the look-ups, comparisons and checks of each step."""
