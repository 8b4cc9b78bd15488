"""The player of traces, with a position that goes both ways."""
