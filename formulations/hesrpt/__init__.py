"""hesrpt as a model: how to share servers between parallelizable jobs."""

import logging

from schedopt.formulations.hesrpt.allocation import Allocation

# CVXPY 1.8 logs that it does not know OR-Tools 9.15, whose solvers it is not asked for.
logging.getLogger("__cvxpy__").addFilter(lambda told: "importing solver" not in told.getMessage())
__all__ = ["Allocation"]
