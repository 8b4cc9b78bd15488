"""What a user gets: matches as rows, frames and texts, and what each step did."""
