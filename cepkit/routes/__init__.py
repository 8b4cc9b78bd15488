"""The route of an aggregation: without matches, or by detecting them first.

`aggregation` and the engine (`columnar`) do not know each other; this package knows both. It stands
between them and the verbs, so that what runs locally and what Spark's workers run is the same.
"""
