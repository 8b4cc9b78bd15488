"""A sequence and its events as operations on prefixes."""
