"""Admission rules for any classes, as plainly as they can be said: what starts next, if anything.

After each arrival and each completion a rule is asked until it says None. A test holds the compiled
twins in `admission_kernels` to these.
"""

from __future__ import annotations

from math import fsum

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_number
from schedopt.policies.msfq.first_come import solved
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import Rule, Twin, slots
from schedopt.policies.msfq.state import State

PAPER = "Chen et al., Improving Nonpreemptive Multiserver Job Scheduling with Quickswap, 2025"
KERNELS = "schedopt.policies.msfq.admission_kernels"


@admission_rule(
    "fcfs",
    source=f"{PAPER}, section 1.1",
    summary="first come, first served",
    twin=Twin(KERNELS, "fcfs"),
    solved=solved,
)
def fcfs(state: State) -> int | None:
    """First come, first served: who came first starts, or everyone waits."""
    first = state.oldest(state.queued())
    return first if first is not None and state.needs[first] <= state.free else None


@admission_rule(
    "first-fit",
    source=f"{PAPER}, section 1.1",
    summary="the first of those that fit",
    twin=Twin(KERNELS, "first_fit", "starts_where_it_fits"),
)
def first_fit(state: State) -> int | None:
    """FCFS that skips jobs which do not fit."""
    return state.oldest(state.fitting())


@admission_rule(
    "msf",
    source=f"{PAPER}, section 4.1",
    summary="of those that fit, the most servers first",
    twin=Twin(KERNELS, "most_servers_first", "starts_where_it_fits"),
)
def most_servers_first(state: State) -> int | None:
    """Most Servers First: of those that fit, who needs most."""
    return state.largest(state.fitting())


@admission_rule(
    "adaptive-quickswap",
    source=f"{PAPER}, section 4.4",
    summary="MSF that drains once it serves only what keeps another class waiting",
    twin=Twin(KERNELS, "adaptive_quickswap", "adaptive_after_arrival"),
)
class AdaptiveQuickswap(Rule):
    """MSF, until it serves only what keeps others waiting.

    Where some waiting class is not in service, and no class in service waits, only the waiting job
    that needs most servers may start; once it has, MSF goes on.
    """

    memory = (0,)  # draining

    def __init__(self, queue: Instance) -> None:
        self.draining = False

    def __call__(self, state: State) -> int | None:
        """Return what starts next."""
        if self.draining:
            kind = state.largest(state.queued())
            if kind is not None and state.needs[kind] > state.free:
                return None
            self.draining = False
            if kind is not None:
                return kind
        following = most_servers_first(state)
        if following is None:
            queued = state.queued()
            useful = any(state.running[kind] for kind in queued)
            self.draining = bool(queued) and not useful
        return following


@admission_rule(
    "nmsr",
    source="Chen, Grosof and Berg, POMACS 9, 2025 (the paper's reference 12)",
    summary="a random cycle of schedules, blind to the queues",
    twin=Twin(KERNELS, "by_the_clock"),
    suits="alone",
    cycle_rate=Option(None, "cycles per unit of time, above 0", lambda v: is_number(v) and v > 0),
)
class Nmsr(Rule):
    """Nonpreemptive Markovian service rates: a cycle of schedules, blind to the queues.

    A class whose turn has come starts as servers free.

    The paper states neither schedules nor weights nor rates. Here each class has one schedule, as
    many of its jobs as fit; it is held in proportion to the servers' time that the class asks for,
    λ_i/(floor(k/i)·μ_i). ``cycle_rate`` is c: a cycle takes 1/c on average. By default switching,
    which idles servers until the last of floor(k/i) jobs ends, costs half of the time to spare.
    """

    memory = (0,)  # the turn

    def __init__(self, queue: Instance, cycle_rate: float | None = None) -> None:
        self.slots = slots(queue)
        each = list(zip(queue.classes, self.slots, strict=True))
        asked = [job.arrival_rate / (job.service_rate * most) for job, most in each]
        if cycle_rate is None:
            lost = fsum(
                float(np.sum(1.0 / np.arange(1, most + 1))) / job.service_rate for job, most in each
            )
            cycle_rate = max(1e-9, 1.0 - fsum(asked)) / (2.0 * lost)
        self.holding = tuple(one / fsum(asked) / cycle_rate for one in asked)

    def __call__(self, state: State) -> int | None:
        """Return what starts next."""
        kind = self.turn
        return kind if kind in state.fitting() and state.running[kind] < self.slots[kind] else None
