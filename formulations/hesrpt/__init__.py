"""Models of hesrpt: how to share servers between parallelizable jobs."""

from schedopt.formulations.hesrpt.allocation import Allocation

__all__ = ["Allocation"]
