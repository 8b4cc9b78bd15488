"""Calibration: the matches of a pattern for many values of its parameters.

`thresholds.py` says which parameters one detection answers for all values, `curve.py` counts its
matches, `labels.py` compares them with incidents, and `result.py` is the answer.
"""
