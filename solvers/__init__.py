"""One adapter for each engine, and the one `Result` that all of them return."""

from solvers.result import Limits, Result

__all__ = ["Limits", "Result"]
