"""Results as Spark DataFrames."""
