"""Knapsacks as selectors see them; `items` has the jobs that are worth a decision."""
