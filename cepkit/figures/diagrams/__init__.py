"""Diagrams of automata, trees, plans and time lines, drawn on a canvas."""
