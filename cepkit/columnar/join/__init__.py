"""Steps over chunks of partial matches."""
