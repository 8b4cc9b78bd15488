"""What is known of a stream in the light of a pattern: rates, filters, selectivities."""

from cepkit.statistics.model import Selectivity, Statistics

__all__ = ["Selectivity", "Statistics"]
