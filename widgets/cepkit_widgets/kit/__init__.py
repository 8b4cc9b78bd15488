"""Shared by all apps: a widget that shows HTML, its controls as HTML, and their style."""
