"""Seasons: branching in whole numbers, and MIP solvers, over the columns of all nights."""

from schedopt.solvers.dssp.selection import HIGHS, MODEL, SCIP, TREE

ENGINES = (TREE, HIGHS, SCIP, MODEL)
"""Read from the top: the first that accepts a season, and is worth trying, answers."""
