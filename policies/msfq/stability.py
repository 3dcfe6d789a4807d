"""Which policies are stable where, told before anything is simulated.

Sources: Theorems 1 and 2 and Remark 1; for FCFS in a one-or-all system, the saturated system of
Grosof, Harchol-Balter and Scheller-Wolf, SIGMETRICS PER 51, 2023 (the paper's reference 22).
"""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

from instances.msfq import Instance
from policies.msfq.plans import slots
from policies.registry import UnstableError

EXACT_ONE_OR_ALL = ("msf", "msfq", "first-fit")
"""Stable in a one-or-all system whenever any policy is."""


class Region(NamedTuple):
    """How near to its limit a policy is.

    Attributes
    ----------
    load : float
        Below 1 where it is stable.
    exact : bool
        Whether it is unstable wherever that is not below 1, and stable wherever it is; if not, only
        the former is known.
    parts : tuple of (int, float)
        What each class brings to it.
    """

    load: float
    exact: bool
    parts: tuple[tuple[int, float], ...]


def region(queue: Instance, policy: str) -> Region:
    """Return the stability region of a policy.

    Parameters
    ----------
    queue : Instance
        Servers and classes.
    policy : str
        Its name.
    """
    if policy == "static-quickswap":  # Remark 1
        room = slots(queue)
        parts = tuple(
            (job.need, job.arrival_rate / (most * job.service_rate))
            for job, most in zip(queue.classes, room, strict=True)
        )
        return Region(fsum(part for _, part in parts), True, parts)
    if policy == "fcfs" and queue.one_or_all and queue.memoryless:
        return _fcfs(queue)
    parts = tuple((job.need, job.work / queue.servers) for job in queue.classes)
    exact = queue.one_or_all is not None and policy in EXACT_ONE_OR_ALL
    return Region(queue.load, exact, parts)


def _fcfs(queue: Instance) -> Region:
    """λ·(p_k/μ_k + (p_k/μ_1)·Σ_{j=1..k} p_1^j/j + p_1^(k+1)/(k·μ_1)), if it is saturated."""
    k = queue.servers
    small, large = (queue.classes[i] for i in queue.one_or_all or (0, 0))
    rate = small.arrival_rate + large.arrival_rate
    p1, pk = small.arrival_rate / rate, large.arrival_rate / rate
    switching = pk * fsum(p1**j / j for j in range(1, k + 1))
    of_small = rate * (switching + p1 ** (k + 1) / k) / small.service_rate
    of_large = rate * pk / large.service_rate
    parts = ((1, of_small), (k, of_large))
    return Region(of_small + of_large, True, parts)


def require_stable(queue: Instance, policy: str) -> Region:
    """Return the region, if the policy may be stable.

    Raises
    ------
    UnstableError
        If it is not, with the load and what each class brings to it.
    """
    found = region(queue, policy)
    if found.load >= 1:
        parts = ", ".join(f"need {need}: {part:.4g}" for need, part in found.parts)
        raise UnstableError(f"a load of {found.load:.6g} under {policy}, not below 1 ({parts})")
    return found
