"""An exact engine for the plain 0-1 knapsack: a core algorithm, in compiled steps.

`search` has the algorithm (`Core`) and the engine that the table of selections names, `kernels` the
compiled enumeration, `items` the jobs that are worth a decision, `bounds` what rules out the rest.
"""
