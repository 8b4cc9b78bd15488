"""Statistics measured on events: counted, sampled, or updated as events arrive."""
