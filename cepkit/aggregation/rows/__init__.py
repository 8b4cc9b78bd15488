"""Rows of the output: at which moments, of which groups, with which types."""
