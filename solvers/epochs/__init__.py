"""epoch: partitions and rectangles solved by a bound, a question and CP-SAT."""

from solvers.epochs.solving import solve

__all__ = ["solve"]
