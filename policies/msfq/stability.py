"""Stability of policies: by theory before a simulation, and as observed in a run.

Sources: Theorems 1 and 2 and Remark 1; for FCFS in a one-or-all system the formula of Grosof,
Harchol-Balter and Scheller-Wolf, SIGMETRICS PER 51, 2023 (the paper's reference 22).
"""

from math import fsum, sqrt
from typing import NamedTuple

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.experiment import Measured
from schedopt.policies.msfq.rule import slots
from schedopt.policies.registry import NotApplicableError, UnstableError

EXACT_ONE_OR_ALL = ("msf", "msfq", "first-fit")
"""Stable in a one-or-all system whenever any policy is."""

STARVED = 0.5
"""A job that has waited for this fraction of a run is taken to starve."""
GROWTH = 3.0
"""A class piles up if its jobs in the system grow by this factor from the first quarter of a run to
the last, and to more than the square root of its arrivals, the rate of growth at the limit of
stability. If the run was only too short, its means are of no use either."""


class Region(NamedTuple):
    """How close a policy is to its limit of stability.

    It is unstable where ``load`` is not below 1, and stable below if the region is ``exact``.
    ``parts`` are needs and what each class adds to the load.
    """

    load: float
    exact: bool
    parts: tuple[tuple[int, float], ...]


def region(queue: Instance, policy: str) -> Region:
    """Return the stability region of a policy, by its name."""
    if policy == "static-quickswap":  # Remark 1
        room = slots(queue)
        parts = tuple(
            (job.need, job.arrival_rate / (most * job.service_rate))
            for job, most in zip(queue.classes, room, strict=True)
        )
        return Region(fsum(part for _, part in parts), True, parts)
    if policy == "fcfs" and queue.memoryless and queue.one_or_all:
        return _one_or_all_load(queue)
    parts = tuple((job.need, job.work / queue.servers) for job in queue.classes)
    exact = queue.one_or_all is not None and policy in EXACT_ONE_OR_ALL
    return Region(queue.load, exact, parts)


def _one_or_all_load(queue: Instance) -> Region:
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
    """Return the region of a policy; `UnstableError` with each class's load if it is not stable."""
    limit = region(queue, policy)
    if limit.load >= 1:
        parts = ", ".join(f"need {need}: {part:.4g}" for need, part in limit.parts)
        raise UnstableError(f"a load of {limit.load:.6g} under {policy}, not below 1 ({parts})")
    return limit


def require_settled(
    queue: Instance, policy: str, measured: Measured, *, proven: bool = False, ended: bool = False
) -> None:
    """Refuse a run in which a class starves or work piles up: its means would mislead.

    ``ended`` says that nothing arrived any more and every job that could start did. `UnstableError`
    if a class is starved or piles up; `NotApplicableError` if the policy is ``proven`` stable here,
    so that only the run was too short.
    """
    faults = []
    for c, job in enumerate(queue.classes):
        if measured.oldest[c] > (0.0 if ended else STARVED * measured.elapsed):
            left = "at the end" if ended else f"of {measured.elapsed:.4g}"
            faults.append(
                f"a job of need {job.need} has waited for {measured.oldest[c]:.4g} units of time "
                f"{left}, and is not served"
            )
    if not ended and not proven:
        faults += [
            f"jobs of {which} pile up: {early:.4g} in the system at first, {late:.4g} later"
            for which, early, late, came in _jobs_by_quarter(queue, measured)
            if late > GROWTH * early and late > sqrt(came)
        ]
    if not faults:
        return
    if proven:
        raise NotApplicableError(f"too short a run of {policy}, which is stable here: {faults[0]}")
    raise UnstableError(
        f"the queue kept growing under {policy} at a load of {queue.load:.6g}: it is unstable, or "
        f"the run too short to show that it settles ({faults[0]})"
    )


def _jobs_by_quarter(queue: Instance, measured: Measured) -> list[tuple[str, float, float, float]]:
    """Return by class the jobs in the system in a run's first and last quarters, and arrivals."""
    quarter = len(measured.levels) // 4
    if quarter < 2:
        return []
    early = measured.levels[:quarter].mean(axis=0)
    late = measured.levels[-quarter:].mean(axis=0)
    named = [f"need {job.need}" for job in queue.classes]
    each = list(zip(named, early.tolist(), late.tolist(), measured.came.tolist(), strict=True))
    return [*each, ("any need", float(early.sum()), float(late.sum()), float(measured.came.sum()))]
