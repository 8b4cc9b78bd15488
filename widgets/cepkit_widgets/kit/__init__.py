"""What apps share: a widget that shows HTML, its controls as HTML, and the style of both."""
