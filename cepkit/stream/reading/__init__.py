"""Readers of files, frames and tables as events: columns, types and times."""
