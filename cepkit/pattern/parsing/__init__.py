"""Pattern texts parsed: the grammar, the syntax tree, and errors that point at their place."""
