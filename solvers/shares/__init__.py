"""An exact engine for selections with caps and floors on the shares of disjoint groups of jobs.

`groups` finds them in a selection, `prices` relaxes the capacity with one multiplier, under which
each group is a knapsack of its own (`group_kernels`), `search` combines the groups' near-best
selections into one that fits (`choice_kernels`), and `engine` is the adapter that solves a
selection with it.
"""
