"""An exact engine for selections with caps and floors on the shares of disjoint groups of jobs.

`reading` finds the groups in a selection, `capacity_price` relaxes the capacity with one
multiplier, under which each group is a knapsack of its own, `search` combines the groups' near-best
selections (`alternatives`) into one that fits, and `engine` solves a selection with it; `kernels`
are compiled.
"""
