"""Schedules by search: jobs are dispatched again and again, each time others of them."""

from schedopt.solvers.dssp.schedule.search import Found, search

__all__ = ["Found", "search"]
