"""Checkers of solutions and bounds, and comparisons with the papers' claims.

A checker recomputes everything from the instance. It imports no formulation and no policy.
"""
