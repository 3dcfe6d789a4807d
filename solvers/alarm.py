"""Alarms: a solution that beats a proven bound shows that one of the two is wrong."""

from __future__ import annotations

import msgspec

from schedopt.solvers.result import NOISE, Result


def alarm(holder: Result, claim: Result, near: float = 0.0) -> str:
    """Return how the solution of one result contradicts the bound of another; empty if it does not.

    Parameters
    ----------
    holder : Result
        The result with the solution.
    claim : Result
        The result with the bound, or the proof that there is no solution.
    near : float
        The relative difference that counts as rounding, if greater than 1e-9.
    """
    value, bound = holder.objective, claim.bound
    if holder.solution is None or value is None:
        return ""
    words = f"{holder.found_by or holder.policy or 'the start'} found a solution worth {value:.15g}"
    by = claim.proved_by or claim.bounded_by or claim.solver or "the bound"
    if claim.termination == "infeasible":
        return f"{words}, and {by} proved that there is none: one of the two is wrong"
    if bound is None:
        return ""
    beyond = value - bound if claim.sense == "maximize" else bound - value
    if beyond <= max(NOISE, near) * max(abs(value), abs(bound)):
        return ""
    return f"{words}, and {by} proved the bound {bound:.15g}: one of the two is wrong"


def with_alarm(result: Result, what: str) -> Result:
    """Return the result in error: it keeps its solution, and nothing is proven."""
    if not what:
        return result
    said = f"{result.message}; {what}" if result.message else what
    result = msgspec.structs.replace(
        result,
        termination="error",
        solution_status="none" if result.solution is None else "feasible",
        bound=None,
        gap=None,
        proved_by=None,
        message=said,
    )
    return result.with_details(conflict=())
