"""hesrpt: allocations solved by prices of work, a search over orders, and convex programs."""

from schedopt.solvers.hesrpt.solving import solve

__all__ = ["solve"]
