"""What the policies of msfq are measured against: the optimal policy, or the best threshold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from instances.constraints import Constraint
from instances.msfq import Instance
from schedopt.verbs.solve import solve
from solvers.result import Result

FEW = 4
"""Servers up to which the optimal policy takes seconds."""
SOME = 128
"""Servers up to which the exact curve does; beyond it is the approximation by area."""


def reference(
    queue: Instance,
    *,
    constraints: Iterable[Constraint] = (),
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Result:
    """Return the reference of a bench: its ``formulation`` and ``options`` say which it is.

    The optimal policy for a few servers, else the best threshold of MSFQ, exactly where there are
    not too many; without side constraints, since policies know none. Where neither applies (several
    classes, other sizes, an unstable system) the reference has no objective.

    Parameters
    ----------
    queue : Instance
    constraints : iterable of Constraint
        Side constraints beyond the instance's: only a threshold takes them.
    time_limit : float, optional
    options : mapping, optional
        ``method`` and ``variant``, for a threshold.
    """
    rules = [*queue.constraints, *constraints]
    if queue.one_or_all is None or not queue.memoryless or queue.load >= 1:
        return Result(
            instance=queue.name,
            problem="msfq",
            termination="not-applicable",
            solution_status="none",
            sense="minimize",
        )
    if queue.servers <= FEW and not rules and not options:
        return solve(queue, formulation="optimal-policy", time_limit=time_limit)
    chosen = dict(options or {})
    if queue.servers > SOME:
        chosen.setdefault("method", "area")
    found = solve(queue, constraints=constraints, time_limit=time_limit, options=chosen)
    if found.solution_status == "none":
        return found
    # The best of all thresholds, but other policies may be better: it bounds none of them.
    return msgspec.structs.replace(found, solution_status="feasible", bound=None, gap=None)
