"""Exercises: tasks about event patterns that check their answers.

`contract.py` says what an exercise is; each kind has a file, and an entry in the table of
`collection.py`.
"""

from cepkit.teaching.exercises.collection import KINDS, Exercises, exercises
from cepkit.teaching.exercises.contract import Exercise, Kind, Marked

__all__ = ["KINDS", "Exercise", "Exercises", "Kind", "Marked", "exercises"]
