"""The alarm: a solution that beats what was called proven shows that one of the two is wrong."""

from __future__ import annotations

import msgspec

from schedopt.solvers.result import NOISE, Result


def alarm(holder: Result, claim: Result, near: float = 0.0) -> str:
    """Say what the solution of one result refutes of another's claim; nothing where both agree.

    ``near`` is the relative difference that the rounding of either may make, beyond 1e-9.
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
    """Return a result as an alarm leaves it: its solution is in hand, and nothing is proven."""
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
