"""The methods that aggregate one sequence, and the choice between them."""
