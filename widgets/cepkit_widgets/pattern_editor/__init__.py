"""A pattern written in a notebook: parsed as one types, tried on a sample, run on everything."""
