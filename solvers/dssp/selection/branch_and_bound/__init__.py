"""0-1 programs in integers: optimal and infeasible are claimed without tolerances.

`arrays` holds a program as arrays and fixes what its rows decide, `relaxation` is its linear
relaxation in HiGHS, `multipliers` turns what that says into bounds without rounding, `tree` closes
what is left by branching, and `engine` solves a selection by all of them.
"""
