"""Tools that figures are drawn with: canvases, colours, scales, texts."""
