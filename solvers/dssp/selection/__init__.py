"""Selections: a knapsack core, shares of groups, and branching in whole numbers."""
