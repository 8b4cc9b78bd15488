"""A branch compiled for events that come one at a time: what it demands, and when."""
