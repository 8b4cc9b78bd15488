"""Statistics of a Spark stream."""
