"""The events of one slice, prepared for the steps of a program."""
