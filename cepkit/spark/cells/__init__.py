"""How the events of a Spark stream reach the workers: cut into cells."""
