"""What is optimal: each problem as a declarative model, and side constraints on it."""
