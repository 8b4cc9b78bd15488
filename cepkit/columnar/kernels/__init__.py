"""Inner loops that know nothing of a query, and the numbers that they compute in."""
