"""The four strategies side by side: the matches that each one finds and lacks."""
