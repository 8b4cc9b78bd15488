"""The events of one slice as steps see them: candidates, bounds, blocks of matches."""
