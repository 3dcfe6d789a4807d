"""How far apart: checkers that believe nothing, and the papers' claims beside our numbers.

A checker recomputes everything from the instance. It imports no formulation and no policy.
"""
