"""An exact engine for the plain 0-1 knapsack: a core algorithm, in compiled steps.

`search` has the algorithm (`Core`), `kernels` its compiled enumeration, `items` the jobs that are
worth a decision, `engine` what the table of selections names.
"""
