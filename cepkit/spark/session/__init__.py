"""A local Spark session: Java, start, progress, errors."""
