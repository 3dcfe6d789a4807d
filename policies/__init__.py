"""What people run instead of a solver: closed forms, heuristics, dispatchers, queueing policies."""
