"""Admission rules for any classes: which class starts next, if any.

After each arrival and each completion a rule is asked until it says `NONE`. Each is said once, on
flat arrays (see `Seen`): the compiled simulator and that in plain Python run the same function.
"""

from math import fsum

import numpy as np

from schedopt.instances.msfq import ClassTime, Expected, Instance
from schedopt.instances.options import Option, is_number
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import ANY, NONE, FlatRule, Seen, Twin, slots
from schedopt.policies.msfq.stability import require_stable
from schedopt.policies.msfq.state import State
from schedopt.policies.registry import NotApplicableError

QUICK = 1200
"""Phases up to which FCFS is solved unasked: a second or two."""
PAPER = "Chen et al., Improving Nonpreemptive Multiserver Job Scheduling with Quickswap, 2025"


def exact_fcfs(queue: Instance, required: bool) -> Expected | None:
    """Return FCFS's exact mean response times; None where simulation is better or the only way.

    If they are ``required``, however long they take, `NotApplicableError` says why there are none.
    `UnstableError` if FCFS is not stable.
    """
    from schedopt.solvers.msfq.fcfs import MOST_PHASES, TooManyPhasesError, UnsettledError, fcfs

    if not queue.memoryless:
        if required:
            raise NotApplicableError("exact times of fcfs are for exponential sizes")
        return None
    region = require_stable(queue, "fcfs")
    try:
        solution = fcfs(queue, MOST_PHASES if required else QUICK)
    except (TooManyPhasesError, UnsettledError) as reason:
        if required:
            raise NotApplicableError(f"no exact times of fcfs: {reason}") from None
        return None
    return Expected(
        mean_response_time=float(np.dot(queue.weights("mean"), solution.times)),
        weighted_response_time=float(np.dot(queue.weights("weighted"), solution.times)),
        classes=tuple(
            ClassTime(
                need=job.need,
                mean_response_time=float(time),
                mean_number=float(number),
                arrival_rate=job.arrival_rate,
            )
            for job, time, number in zip(
                queue.classes, solution.times, solution.numbers, strict=True
            )
        ),
        method="exact",
        utilization=queue.load,
        limit=queue.arrival_rate / region.load,
    )


def starts_where_it_fits(seen: Seen, free: int, kind: int) -> int:
    """Start the job that arrived, or nothing: whatever fits has started before."""
    return kind if seen.needs[kind] <= free else NONE


def _oldest(seen: Seen, free: int, fitting: bool) -> int:
    """Return the class of the oldest waiting job, or of the oldest that fits, if it fits."""
    best = NONE
    for c in range(len(seen.needs)):
        if seen.waiting[c] and (not fitting or seen.needs[c] <= free):  # noqa: SIM102 - sooner
            if best < 0 or seen.head[c] < seen.head[best]:
                best = c
    return best if best >= 0 and seen.needs[best] <= free else NONE


@admission_rule(
    "fcfs",
    source=f"{PAPER}, section 1.1",
    summary="first come, first served",
    twin=Twin(__name__, "fcfs"),
    solved=exact_fcfs,
)
def fcfs(seen: Seen, free: int) -> int:
    """First come, first served: the first job starts, or all wait."""
    return _oldest(seen, free, False)


@admission_rule(
    "first-fit",
    source=f"{PAPER}, section 1.1",
    summary="the first of those that fit",
    twin=Twin(__name__, "first_fit", "starts_where_it_fits"),
)
def first_fit(seen: Seen, free: int) -> int:
    """FCFS that skips jobs which do not fit."""
    return _oldest(seen, free, True)


@admission_rule(
    "msf",
    source=f"{PAPER}, section 4.1",
    summary="of those that fit, the most servers first",
    twin=Twin(__name__, "most_servers_first", "starts_where_it_fits"),
)
def most_servers_first(seen: Seen, free: int) -> int:
    """Most Servers First: of the classes that fit, the one of the largest need.

    It looks from the least need up: in a busy system few servers are free, and few classes fit.
    """
    best = NONE
    for rank in range(len(seen.by_need) - 1, -1, -1):
        c = seen.by_need[rank]
        if seen.needs[c] > free:
            break
        if seen.waiting[c]:
            best = c
    return best


def adaptive_quickswap(seen: Seen, free: int) -> int:
    """See `AdaptiveQuickswap`; the memory is whether it drains."""
    if seen.memory[0]:
        for c in seen.by_need:
            if seen.waiting[c]:
                if seen.needs[c] > free:
                    return NONE
                seen.memory[0] = 0
                return c
        seen.memory[0] = 0
    best = most_servers_first(seen, free)
    if best >= 0:
        return best
    left_out = False
    for c in range(len(seen.needs)):
        if seen.waiting[c]:
            if seen.running[c]:
                return NONE
            left_out = True
    seen.memory[0] = left_out
    return NONE


def after_adaptive(seen: Seen, free: int, kind: int) -> int:
    """Tell what an arrival may start: no drain begins while its class is in service."""
    if not seen.memory[0]:
        if seen.needs[kind] <= free:
            return kind
        return NONE if seen.running[kind] else ANY
    if seen.waiting[kind] > 1:
        return NONE  # a drain waits for the class of the largest need, and that is the same
    return ANY


@admission_rule(
    "adaptive-quickswap",
    source=f"{PAPER}, section 4.4",
    summary="MSF that drains once it serves only what keeps another class waiting",
    twin=Twin(__name__, "adaptive_quickswap", "after_adaptive"),
)
class AdaptiveQuickswap(FlatRule):
    """MSF until the class in service keeps all others waiting, then a drain.

    Where some waiting class is not in service, and no class in service waits, only the waiting job
    that needs most servers may start; once it has, MSF goes on.
    """

    def __init__(self, queue: Instance) -> None:
        super().__init__(queue, adaptive_quickswap, (0,))


def by_the_clock(seen: Seen, free: int) -> int:
    """Start a job of the class whose turn it is, held in the memory."""
    c = seen.memory[0]
    if seen.running[c] >= seen.slots[c]:
        return NONE
    if not seen.waiting[c]:
        return NONE
    return c if seen.needs[c] <= free else NONE


@admission_rule(
    "nmsr",
    source="Chen, Grosof and Berg, POMACS 9, 2025 (the paper's reference 12)",
    summary="a random cycle of schedules, blind to the queues",
    twin=Twin(__name__, "by_the_clock"),
    suits="alone",
    cycle_rate=Option(None, "cycles per unit of time, above 0", lambda v: is_number(v) and v > 0),
)
class Nmsr(FlatRule):
    """Nonpreemptive Markovian service rates: a cycle of schedules, blind to the queues.

    A class whose turn has come starts as servers free.

    The paper states neither schedules nor weights nor rates. Here each class has one schedule, as
    many of its jobs as fit; it is held in proportion to the servers' time that the class asks for,
    λ_i/(floor(k/i)·μ_i). ``cycle_rate`` is c: a cycle takes 1/c on average. By default switching,
    which idles servers until the last of floor(k/i) jobs ends, costs half of the time to spare.
    """

    def __init__(self, queue: Instance, cycle_rate: float | None = None) -> None:
        super().__init__(queue, by_the_clock, (0,))
        each = list(zip(queue.classes, slots(queue), strict=True))
        asked = [job.arrival_rate / (job.service_rate * most) for job, most in each]
        if cycle_rate is None:
            lost = fsum(
                float(np.sum(1.0 / np.arange(1, most + 1))) / job.service_rate for job, most in each
            )
            cycle_rate = max(1e-9, 1.0 - fsum(asked)) / (2.0 * lost)
        self.holding = tuple(one / fsum(asked) / cycle_rate for one in asked)

    def __call__(self, state: State) -> int | None:
        """Return what starts next."""
        self.memory[0] = self.turn
        return super().__call__(state)
