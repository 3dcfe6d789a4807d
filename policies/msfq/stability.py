"""Stability of policies: by theory before a simulation, and as observed in a run.

Sources: Theorems 1 and 2 and Remark 1; for FCFS in a one-or-all system the formula of Grosof,
Harchol-Balter and Scheller-Wolf, SIGMETRICS PER 51, 2023 (the paper's reference 22).
"""

from math import fsum, sqrt
from typing import NamedTuple

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.rule import slots
from schedopt.policies.msfq.summary import Counters
from schedopt.policies.registry import NotApplicableError, UnstableError

EXACT_ONE_OR_ALL = ("msf", "msfq", "first-fit")
"""Stable in a one-or-all system whenever any policy is."""


class Region(NamedTuple):
    """The load of a queue relative to the stability limit of a policy.

    The policy is unstable where ``load`` is not below 1, and stable below 1 if the region is
    ``exact``. ``parts`` holds the need of each class and its part of the load.
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
    """Return the load under FCFS: 1 at the throughput of a saturated system.

    λ·(p_k/μ_k + (p_k/μ_1)·Σ_{j=1..k} p_1^j/j + p_1^(k+1)/(k·μ_1)), where p_1 and p_k are the
    fractions of small and large jobs.
    """
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
    """Return the region of a policy; raise `UnstableError` with the classes' loads if unstable."""
    limit = region(queue, policy)
    if limit.load >= 1:
        parts = ", ".join(f"need {need}: {part:.4g}" for need, part in limit.parts)
        raise UnstableError(f"a load of {limit.load:.6g} under {policy}, not below 1 ({parts})")
    return limit


def require_settled(
    queue: Instance,
    policy: str,
    measured: Counters,
    *,
    proven: bool = False,
) -> None:
    """Raise an error if a class starves or jobs pile up in a run: its means would mislead.

    A job starves if it has waited for half of the run. A class piles up if its number of jobs in
    the system trebles from the first quarter of the run to the last, and grows to more than the
    square root of its arrivals, the rate of growth at the limit of stability. A policy that is
    ``proven`` stable has only had too short a run.

    `UnstableError` if a class starves or piles up; `NotApplicableError` if that policy is
    proven stable.
    """
    faults = []
    for c, job in enumerate(queue.classes):
        if measured.oldest[c] > 0.5 * measured.elapsed:
            faults.append(
                f"a job of need {job.need} has waited for {measured.oldest[c]:.4g} units of time "
                f"of {measured.elapsed:.4g} without service"
            )
    if not proven:
        faults += [
            f"jobs of {which} pile up: {early:.4g} in the system at first, {late:.4g} later"
            for which, early, late, came in _jobs_by_quarter(queue, measured)
            if late > 3.0 * early and late > sqrt(came)
        ]
    if not faults:
        return
    if proven:
        raise NotApplicableError(f"{policy} is stable here, but the run is too short: {faults[0]}")
    raise UnstableError(
        f"the queue kept growing under {policy} at a load of {queue.load:.6g}: the policy is "
        f"unstable, or the run is too short ({faults[0]})"
    )


def _jobs_by_quarter(queue: Instance, measured: Counters) -> list[tuple[str, float, float, float]]:
    quarter = len(measured.levels) // 4
    if quarter < 2:
        return []
    early = measured.levels[:quarter].mean(axis=0)
    late = measured.levels[-quarter:].mean(axis=0)
    named = [f"need {job.need}" for job in queue.classes]
    each = list(zip(named, early.tolist(), late.tolist(), measured.came.tolist(), strict=True))
    return [*each, ("any need", float(early.sum()), float(late.sum()), float(measured.came.sum()))]
