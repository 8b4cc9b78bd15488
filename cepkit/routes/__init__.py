"""The route of an aggregation: without matches, or by detecting them first.

`aggregation` and the engine (`columnar`) do not depend on each other; this package uses both. It
lies between them and the verbs, so that local runs and Spark's workers use the same code.
"""
