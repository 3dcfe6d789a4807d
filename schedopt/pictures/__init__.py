"""Pictures of instances and results, one module a problem."""
