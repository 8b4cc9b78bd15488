"""Which way a query goes where there are two: aggregation without matches, or with them.

`aggregation` and the engine (`columnar`) do not know each other; this package knows both. It stands
between them and the verbs, so that what runs locally and what Spark's workers run is the same.
"""
