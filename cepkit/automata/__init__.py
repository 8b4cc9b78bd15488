"""Published mechanisms, event by event: to be watched, counted, and compared with claims."""
