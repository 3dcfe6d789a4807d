"""Schedules by search: jobs are dispatched again and again, each time others of them."""

from solvers.schedules.search import Found, search

__all__ = ["Found", "search"]
