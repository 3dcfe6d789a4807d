"""Checkers, which believe nothing that they are told, and the papers' claims beside our numbers.

A checker recomputes everything from the instance. It imports no formulation and no policy.
"""
