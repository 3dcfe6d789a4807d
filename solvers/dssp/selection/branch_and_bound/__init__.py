"""0-1 programs in integers: optimal and infeasible are claimed without tolerances.

`program_arrays` holds a program as arrays, fixes what its rows decide and scales it for HiGHS,
`relaxation` is its linear relaxation there, and turns what that says into bounds without rounding,
`branching` closes what is left, `solving` solves a selection by all of them, and `lagrangian`
narrows large ones down to what is near its price.
"""
