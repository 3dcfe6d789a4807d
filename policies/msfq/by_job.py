"""Admission rules for classes that go by single jobs: EASY by sizes, and servers set apart."""

from collections.abc import Reversible
from heapq import heappop, heappush
from math import floor, inf
from random import Random
from typing import cast

from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_number
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import Job, Rule, State
from schedopt.policies.registry import NotApplicableError


@admission_rule(
    "backfilling",
    source=(
        "BackFilling and BackFilling with imperfect sizes of the simulator of Chen et al., 2025; "
        "Lifka, JSSPP 1995"
    ),
    summary="FCFS; others may pass the first if by their estimates they end before it can start",
    suits="alone",
    overestimate=Option(
        0.0,
        "a number >= 0; estimates are sizes times 1 up to 1 and this",
        lambda v: is_number(v) and v >= 0,
    ),
)
class Backfilling(Rule):
    """Jobs may pass the first that does not fit if they are to end before it can start.

    Each job's size is known but for a factor that is drawn once, evenly from 1 to
    1 + ``overestimate``: with 0 it is BackFilling, else BackFilling with imperfect sizes. Unlike
    EASY on logs, a job that would not end in time does not pass on servers that the first will not
    need.
    """

    estimates = True

    def __init__(self, queue: Instance, overestimate: float = 0.0) -> None:
        self.overestimate = overestimate
        self._factors: dict[int, float] = {}
        self._shortest: list[list[tuple[float, int, Job]]] = [[] for _ in queue.classes]
        self._last = -1

    def length(self, job: Job) -> float:
        """Return the run time that is planned for a job."""
        if job.number not in self._factors:
            # the same whenever it is asked for
            drawn = Random(f"{job.number} {job.arrival!r}").random()  # noqa: S311 - no secret
            self._factors[job.number] = 1.0 + self.overestimate * drawn
        return (job.estimate or 0.0) * self._factors[job.number]

    def __call__(self, state: State) -> Job | None:
        """Return what starts next."""
        backwards = cast("Reversible[Job]", state.jobs)
        for job in reversed(backwards):  # those that came since
            if job.number <= self._last:
                break
            heappush(self._shortest[job.kind], (self.length(job), job.number, job))
        first = next(iter(state.jobs), None)
        self._last = next((job.number for job in reversed(backwards)), self._last)
        if first is None or first.need <= state.free:
            return first
        fitting = state.fitting()
        if not fitting:
            return None
        free, begins = state.free, inf
        ends = [(run.start + self.length(run.job), run.job) for run in state.in_service]
        for end, job in sorted(ends):
            free += job.need
            if free >= first.need:
                begins = end
                break
        able = {kind for kind in fitting if state.now + self._least(state, kind) <= begins}
        for job in state.jobs if able else ():
            if job.kind in able and state.now + self.length(job) <= begins:
                return job
        return None

    def _least(self, state: State, kind: int) -> float:
        """Return the least length of a class's waiting jobs."""
        known = self._shortest[kind]
        while known[0][2] not in state:
            heappop(known)
        return known[0][0]


@admission_rule(
    "balanced-splitting",
    source="Anselmi and Doncel, Balanced Splitting, IEEE/ACM Transactions on Networking 32, 2024",
    summary="servers set apart for each class, and helpers for who finds none of them idle",
    suits="alone",
    psi=Option(
        None,
        "a number from 0 to 1; the first of 1, 0.9, ... that serves every class where left out",
        lambda v: is_number(v) and 0 <= v <= 1,
    ),
)
class BalancedSplitting(Rule):
    """Servers reserved for each class, and shared helper servers, first come, first served.

    Class i has floor(ψ·(k/n_i)·ρ_i/ρ) places of n_i servers, ρ_i its part of the load; what is left
    are helpers. A job takes a place of its class where one is idle, else helpers; one that waits
    for helpers takes a place as soon as one is idle. Who needs more servers than there are helpers
    blocks nobody.
    """

    def __init__(self, queue: Instance, psi: float | None = None) -> None:
        self.helped: set[int] = set()
        for part in [n / 10 for n in range(10, -1, -1)] if psi is None else [psi]:
            never = self._split(queue, part)  # nobody where all servers are helpers
            if not never:
                return
        raise NotApplicableError(
            f"balanced-splitting never serves need {never[0]}: it has no place of its own, and "
            f"there are {self.helpers} helpers (take a smaller psi)"
        )

    def _split(self, queue: Instance, psi: float) -> list[int]:
        """Reserve servers, and return the needs that can then never be served."""
        shares = queue.weights("weighted")
        self.places = [
            floor(psi * queue.servers / job.need * share + 1e-9)  # 1e-9: what rounding may take
            for job, share in zip(queue.classes, shares, strict=True)
        ]
        own = sum(n * job.need for n, job in zip(self.places, queue.classes, strict=True))
        self.helpers = queue.servers - own
        each = zip(self.places, queue.classes, strict=True)
        return [job.need for n, job in each if not n and job.need > self.helpers]

    def __call__(self, state: State) -> Job | None:
        """Return what starts next."""
        if not state.jobs:
            return None
        self.helped &= {run.job.number for run in state.in_service}
        helped = [run.job for run in state.in_service if run.job.number in self.helped]
        idle = self.helpers - sum(job.need for job in helped)
        held = [job.kind for job in helped]
        left = [
            most - running + held.count(kind)
            for kind, (most, running) in enumerate(zip(self.places, state.running, strict=True))
        ]
        queued = state.queued()
        own = state.oldest(kind for kind in queued if left[kind] > 0)
        other = state.oldest(
            kind for kind in queued if left[kind] <= 0 and state.needs[kind] <= self.helpers
        )
        heads = [state.head(kind) for kind in (own, other) if kind is not None]
        for job in sorted(job for job in heads if job is not None):
            if job.kind == own:
                return job
            if job.need <= idle:
                self.helped.add(job.number)
                return job
        return None
