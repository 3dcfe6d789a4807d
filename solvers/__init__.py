"""One adapter for each engine, and the one `Result` that all of them return."""

from schedopt.solvers.result import Limits, Result

__all__ = ["Limits", "Result"]
