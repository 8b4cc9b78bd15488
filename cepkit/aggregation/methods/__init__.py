"""The methods that aggregate one sequence, and how one is chosen and run."""
