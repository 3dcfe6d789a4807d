"""Policies that clusters run: closed forms, heuristics, dispatchers and queue disciplines."""
