"""Results of detection: matches as rows, frames and texts, and explanations."""
