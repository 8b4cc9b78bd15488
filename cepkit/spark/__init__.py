"""Spark: sessions, profiles, batch and streaming detection. The only package that knows Spark."""
