"""Published evaluation mechanisms, run event by event for traces and counts."""
