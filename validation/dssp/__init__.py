"""Checkers of dssp."""

from validation.dssp.selection import CONSTRAINTS, check, solution_type

__all__ = ["CONSTRAINTS", "check", "solution_type"]
