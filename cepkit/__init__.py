"""cepkit: complex event processing in a notebook, on Spark."""
