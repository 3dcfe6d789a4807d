"""The report of a bench: one page that needs nothing but a browser."""

from schedopt.report.writing import need_plotly, write

__all__ = ["need_plotly", "write"]
