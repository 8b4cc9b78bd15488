"""Automata, trees, plans and time lines as shapes on a canvas."""
