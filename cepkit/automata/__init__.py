"""Published evaluation mechanisms, run event by event to be traced and counted."""
