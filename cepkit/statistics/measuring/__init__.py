"""Statistics measured on events: counted, sampled, or kept up to date as events come."""
