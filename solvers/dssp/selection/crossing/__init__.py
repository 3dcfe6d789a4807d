"""Selections under rules that cross: prices of all rows, annealing, and HiGHS on what is left.

`kernels` anneals near the prices of the linear relaxation, `search` drives it and makes the bound
exact, `engine` fixes what the two decide and hands the rest on.
"""
