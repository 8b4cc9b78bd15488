"""What all mechanisms have in common: a branch in a partition, its buffers, instances, counters."""
