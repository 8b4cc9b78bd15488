"""Diagnosis: why events do not match, and which combinations come nearest to one.

A branch is a list of requirements (pattern/requirements.py); each can be measured on many
combinations of events at once (measures.py) and put in words for one (findings.py). `search.py`
joins events as long as they violate few requirements. All answers follow from these: the verdict on
given events and the nearest misses (`verdict.py`, `nearest.py`), and the funnel (`funnel.py`).
"""
