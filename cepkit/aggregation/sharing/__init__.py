"""Several sequences: what they share, planned, laid out and run."""
