"""Seasons: the priced core and MIP solvers, over the columns of all nights."""

from schedopt.solvers.dssp.selection import BRANCH_AND_BOUND, HIGHS, MODEL, PRICED_CORE, SCIP

ENGINES = (PRICED_CORE, BRANCH_AND_BOUND, HIGHS, SCIP, MODEL)
"""The first engine that accepts a season, and is worth trying, solves it."""
