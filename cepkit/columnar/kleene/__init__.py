"""Sets of Kleene variables: counted by arithmetic, enumerated on demand."""
