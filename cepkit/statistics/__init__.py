"""Statistics of a stream for a pattern: rates, filters, selectivities, keys."""

from cepkit.statistics import printer as printer  # registers how statistics print
from cepkit.statistics.forecast import Forecast
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.lateness import Lateness
from cepkit.statistics.model import Statistics
from cepkit.statistics.over_time import OverTime
from cepkit.statistics.selectivity import Equality, Joined, Selectivity

__all__ = [
    "Equality",
    "Forecast",
    "Joined",
    "KeyCounts",
    "Lateness",
    "OverTime",
    "Selectivity",
    "Statistics",
    "printer",
]
