"""Sweeps: policies or variations on many instances, computed in parallel, a row for each."""
