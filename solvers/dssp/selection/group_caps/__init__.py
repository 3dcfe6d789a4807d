"""An exact engine for selections with caps and floors on the shares of disjoint groups of jobs.

`reading` finds the groups in a selection, `search` relaxes the capacity with one multiplier, under
which each group is a knapsack of its own, and combines the groups' near-best selections into one
that fits; `kernels` are compiled.
"""
