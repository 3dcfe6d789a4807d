"""Pages: one of a bench, one of a single result; each is one file without references."""

from schedopt.report.bench_page import write

__all__ = ["write"]
