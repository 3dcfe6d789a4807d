"""Engines of hesrpt: closed forms, Lagrangian bound, search over orders, and convex programs."""

TABLES = {"allocation": "schedopt.solvers.hesrpt.table:ENGINES"}
"""Where the engines of each formulation are listed."""

CERTIFIERS = {"allocation": "schedopt.solvers.hesrpt.certificate:certificate"}
"""Where the function stands that makes certificates for each formulation."""
