"""Compiled loops that do not depend on a query."""
