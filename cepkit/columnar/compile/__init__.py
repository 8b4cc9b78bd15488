"""From a branch and a plan to a compiled plan: what each step looks up, compares and checks."""
