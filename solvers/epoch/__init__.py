"""epoch: partitions and rectangles solved by a bound, a question and CP-SAT."""

from schedopt.solvers.epoch.solving import solve

__all__ = ["solve"]
