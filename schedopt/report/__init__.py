"""The report of a bench: one page that needs nothing but a browser."""

from schedopt.report.writing import write

__all__ = ["write"]
