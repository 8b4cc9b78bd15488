"""The shelf of functions that a condition may call: a new one fits contract.py and has an entry."""

from cepkit.pattern.evaluation.functions import correlation, numbers
from cepkit.pattern.evaluation.functions.contract import Function
from cepkit.shelf import Shelf

FUNCTIONS: Shelf[Function] = Shelf(
    "function",
    (numbers.ABS, "the absolute value"),
    (numbers.SQRT, "the square root; of a negative number it is missing"),
    (numbers.LOG, "the natural logarithm; of what is not positive it is missing"),
    (numbers.LEAST, "the least of two or more numbers, times or durations"),
    (numbers.GREATEST, "the greatest of two or more numbers, times or durations"),
    (correlation.CORR, "Pearson's correlation of two arrays of one length"),
)
"""Every function of the language by name; aggregates of KL sets stand in `set_functions.py`."""
