"""Sweeps: which policies run on which instances, who does the work, and where the rows go."""
