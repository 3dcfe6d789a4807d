"""Seasons: branching in whole numbers, and MIP solvers, over the columns of all nights."""

from dataclasses import replace

from schedopt.solvers.dssp.selection import HIGHS, MODEL, SCIP, TREE

ENGINES = (
    *(replace(engine, certificate="", certify="") for engine in (TREE, HIGHS, SCIP)),
    MODEL,
)
"""Read from the top: the first that accepts a season, and is worth trying, answers."""
