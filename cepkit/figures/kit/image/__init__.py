"""Figures as SVG, drawn without a browser: for exported notebooks, and for files."""
