"""Selections under rules that cross: prices of all rows, annealing, then SCIP or HiGHS on the rest.

`kernels` anneals near the prices of the linear relaxation, `search` drives it and makes the bound
exact, `engine` has HiGHS join what rounds of annealing end with, fixes what bound and best decide,
and hands the rest on.
"""
