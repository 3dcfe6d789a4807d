"""Admission rules for any classes, and for one-or-all systems: which class starts next.

After each arrival and each completion a rule is called until it returns `NONE`. Each rule is one
function of flat arrays (see `FlatState`), which runs compiled or in plain Python.
"""

from math import fsum, inf
from typing import Any

import numpy as np

from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_number
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import NONE, FlatRule, FlatState, by_need, slots
from schedopt.policies.registry import NotApplicableError

PAPER = "Chen et al., Improving Nonpreemptive Multiserver Job Scheduling with Quickswap, 2025"


def _oldest_class(state: FlatState, free: int, fitting: bool) -> int:
    """Return the class of the oldest waiting job, or of the oldest that fits; else `NONE`."""
    best = NONE
    for c in range(len(state.needs)):
        if state.waiting[c] and (not fitting or state.needs[c] <= free):  # noqa: SIM102 - faster
            if best < 0 or state.head[c] < state.head[best]:
                best = c
    return best if best >= 0 and state.needs[best] <= free else NONE


@admission_rule(
    "fcfs",
    source=f"{PAPER}, section 1.1",
    summary="first come, first served",
    flat=True,
)
def fcfs(state: FlatState, free: int) -> int:
    """First come, first served: the oldest job starts, or all jobs wait."""
    return _oldest_class(state, free, False)


@admission_rule(
    "first-fit",
    source=f"{PAPER}, section 1.1",
    summary="the oldest job that fits",
    flat=True,
)
def first_fit(state: FlatState, free: int) -> int:
    """First-Fit: the oldest job that fits starts."""
    return _oldest_class(state, free, True)


@admission_rule(
    "msf",
    source=f"{PAPER}, section 4.1",
    summary="of the jobs that fit, the most servers first",
    flat=True,
)
def most_servers_first(state: FlatState, free: int) -> int:
    """Most Servers First: of the jobs that fit, one of the largest need starts.

    Classes are examined from the smallest need: in a busy system few classes fit.
    """
    best = NONE
    for rank in range(len(state.by_need) - 1, -1, -1):
        c = state.by_need[rank]
        if state.needs[c] > free:
            break
        if state.waiting[c]:
            best = c
    return best


def adaptive_quickswap(state: FlatState, free: int) -> int:
    """Return the class that starts next under `AdaptiveQuickswap`; the memory: draining."""
    if state.memory[0]:
        for c in state.by_need:
            if state.waiting[c]:
                if state.needs[c] > free:
                    return NONE
                state.memory[0] = 0
                return c
        state.memory[0] = 0
    best = most_servers_first(state, free)
    if best >= 0:
        return best
    left_out = False
    for c in range(len(state.needs)):
        if state.waiting[c]:
            if state.running[c]:
                return NONE
            left_out = True
    state.memory[0] = left_out
    return NONE


@admission_rule(
    "adaptive-quickswap",
    source=f"{PAPER}, section 4.4",
    summary="MSF that drains when the classes in service keep another class waiting",
)
class AdaptiveQuickswap(FlatRule):
    """MSF until the classes in service keep another class waiting, followed by a drain.

    A drain begins when a waiting class is not in service and no class in service has waiting jobs.
    Then only the waiting job of the largest need may start; after it has started, MSF continues.
    """

    def __init__(self, queue: Instance) -> None:
        super().__init__(queue, adaptive_quickswap, (0,))


def by_the_clock(state: FlatState, free: int) -> int:
    """Return the class in turn, which is in the memory, if a job of it can start."""
    c = state.memory[0]
    if state.running[c] >= state.slots[c]:
        return NONE
    if not state.waiting[c]:
        return NONE
    return c if state.needs[c] <= free else NONE


@admission_rule(
    "nmsr",
    source="Chen, Grosof and Berg, POMACS 9, 2025 (the paper's reference 12)",
    summary="a random cycle of schedules, independent of the queues",
    suits="alone",
)
class Nmsr(FlatRule):
    """Nonpreemptive Markovian service rates: a random cycle of schedules.

    The class in turn starts jobs as servers become idle, independently of the queues.

    The paper gives neither schedules nor weights nor rates. Here each class has one schedule, with
    as many of its jobs as fit. It lasts in proportion to the server time that the class requires,
    λ_i/(floor(k/i)·μ_i). Switching, which idles servers until the last of floor(k/i) jobs ends,
    takes half of the spare time.
    """

    def __init__(self, queue: Instance) -> None:
        super().__init__(queue, by_the_clock, (0,))
        each = list(zip(queue.classes, slots(queue), strict=True))
        asked = [job.arrival_rate / (job.service_rate * most) for job, most in each]
        lost = fsum(
            float(np.sum(1.0 / np.arange(1, most + 1))) / job.service_rate for job, most in each
        )
        cycle_rate = max(1e-9, 1.0 - fsum(asked)) / (2.0 * lost)
        self.holding = tuple(one / fsum(asked) / cycle_rate for one in asked)


def is_level(value: Any) -> bool:
    """Return True if a value is an integer of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


THRESHOLD = Option(None, "a whole number from 0 to k - 1 (by default k - 1)", is_level)
VARIANT = Option("literal", "literal or lazy", lambda v: v in ("literal", "lazy"))
BOUND = Option(None, "a number >= 0 (by default no bound)", lambda v: is_number(v) and v >= 0)


def pair(queue: Instance, whose: str) -> tuple[int, int]:
    """Return the positions of small and large jobs; `NotApplicableError` if not one-or-all."""
    positions = queue.one_or_all
    if positions is None:
        raise NotApplicableError(f"{whose} needs classes of 1 and of {queue.servers} servers alone")
    return positions


def threshold_in(queue: Instance, threshold: int | None) -> int:
    """Return l, by default k - 1; raise `InputError` unless it is from 0 to k - 1."""
    if threshold is None:
        return queue.servers - 1
    if threshold >= queue.servers:
        raise InputError(
            f"a whole number from 0 to {queue.servers - 1}",
            found=quote(threshold),
            place="option threshold",
        )
    return threshold


def msfq(state: FlatState, free: int) -> int:
    """Return the class that starts next under `Msfq`.

    The memory: small, large, draining, jobs of a drain that have not started, l, lazy.
    """
    memory, waiting, running = state.memory, state.waiting, state.running
    small, large = memory[0], memory[1]
    if running[large]:
        return NONE  # phase 1
    if not running[small] and not memory[3]:  # the servers are empty
        if waiting[large]:
            return large
        memory[2] = not memory[5] and waiting[small] <= memory[4]
        memory[3] = waiting[small] if memory[2] else 0
    if not memory[2] and waiting[small] + running[small] <= memory[4]:
        memory[2] = waiting[large] > 0 or not memory[5]  # phase 4
    if memory[2]:
        if memory[3]:
            memory[3] -= 1
            return small
        return NONE
    return small if waiting[small] and free else NONE


@admission_rule(
    "msfq",
    source=f"{PAPER}, section 4.2",
    summary="MSF that drains when at most l small jobs are left (one-or-all)",
    suits="alone",
    threshold=THRESHOLD,
    variant=VARIANT,
)
class Msfq(FlatRule):
    """MSF Quickswap: drain the small jobs when at most l of them are left.

    ``lazy`` drains only when a large job waits, as the simulator of the paper's authors does.
    """

    phases = True

    def __init__(
        self, queue: Instance, threshold: int | None = None, variant: str = "literal"
    ) -> None:
        self.threshold = threshold_in(queue, threshold)
        memory = (*pair(queue, "msfq"), 0, 0, self.threshold, int(variant == "lazy"))
        super().__init__(queue, msfq, memory)


def two_threshold(state: FlatState, free: int) -> int:
    """Return the class that starts next under `TwoThreshold`.

    The memory: small, large, l. The numbers: b0, b1, b2.
    """
    small, large = state.memory[0], state.memory[1]
    if state.running[large]:
        return NONE
    few, many, c = state.waiting[small], state.waiting[large], state.running[small]
    if not c and many and (not few or few < state.numbers[0] + state.numbers[1] * many):
        return large
    stop = c and many and c <= state.memory[2] and few < state.numbers[2]
    return small if few and free and not stop else NONE


@admission_rule(
    "two-threshold",
    source="the structure of the optimal policy: see formulations.msfq.optimal",
    summary="when to start a large job, and when to stop admitting small ones (one-or-all)",
    suits="alone",
    threshold=THRESHOLD,
    b0=BOUND,
    b1=Option(0.0, "a number >= 0", lambda v: is_number(v) and v >= 0),
    b2=BOUND,
)
class TwoThreshold(FlatRule):
    """Two thresholds, the structure of the optimal policy.

    With empty servers a large job starts if fewer small jobs wait than b0 + b1·(waiting large
    jobs). With c small jobs running and a large job waiting, no small job starts while c <= l and
    fewer than b2 of them wait.

    Up to l = k - 2, without b0 and b2, this is lazy MSFQ. At l = k - 1 it would drain at every
    completion at which a large job waits, however many small jobs wait; so the default is k - 2.
    """

    def __init__(
        self,
        queue: Instance,
        threshold: int | None = None,
        b0: float | None = None,
        b1: float = 0.0,
        b2: float | None = None,
    ) -> None:
        small, large = pair(queue, "two-threshold")
        l = max(0, queue.servers - 2) if threshold is None else threshold
        self.threshold = threshold_in(queue, l)
        bounds = (inf if b0 is None else b0, b1, inf if b2 is None else b2)
        super().__init__(queue, two_threshold, (small, large, self.threshold), bounds)


HANDOVERS = ("drain", "overlap", "authors")
"""Numbered in this order in the memory."""
DRAIN, AUTHORS = 0, 2


def static_quickswap(state: FlatState, free: int) -> int:
    """Return the class that starts next under `StaticQuickswap`.

    The memory: turn, draining (with handover authors: whether this event was handled), handover;
    then, by class, the limits, the cycle, and the waiting jobs after the last event.
    """
    memory, waiting, running = state.memory, state.waiting, state.running
    count = len(state.needs)
    if memory[2] == AUTHORS:
        return _next_of_two_classes(state, free)
    while True:
        c = memory[3 + count + memory[0]]
        if not memory[1]:
            if waiting[c] and running[c] < state.slots[c]:
                return c if state.needs[c] <= free else NONE
            if waiting[c] or running[c] > memory[3 + c]:
                return NONE
            memory[1] = 1
        if running[c] and memory[2] == DRAIN:
            return NONE
        if not _pass_turn(state):
            return NONE
        memory[1] = 0


def _next_of_two_classes(state: FlatState, free: int) -> int:
    """Return the class that starts next if at most two classes may run at the same time."""
    memory, waiting = state.memory, state.waiting
    count = len(state.needs)
    remaining = 3 + 2 * count
    if not memory[1]:  # the first call after an event
        memory[1] = 1
        anyone = another = False
        for c in range(count):
            if waiting[c] > memory[remaining + c]:
                anyone = True
                another = another or c != memory[3 + count + memory[0]]
        if another and _may_pass(state):
            _pass_turn(state)
        if anyone and not waiting[memory[3 + count + memory[0]]]:
            _pass_turn(state)
    c = memory[3 + count + memory[0]]
    if waiting[c] and state.needs[c] <= free:
        return c
    if _may_pass(state):
        _pass_turn(state)
    memory[1] = 0
    for i in range(count):
        memory[remaining + i] = waiting[i]
    return NONE


def _may_pass(state: FlatState) -> bool:
    """Return True if no other class runs and at most l_i jobs of the class in turn."""
    turn = state.memory[3 + len(state.needs) + state.memory[0]]
    for c in range(len(state.needs)):
        if c != turn and state.running[c]:
            return False
    return bool(state.running[turn] <= state.memory[3 + turn])


def _pass_turn(state: FlatState) -> bool:
    """Pass the turn to the next class with a waiting job; return False if there is none."""
    count = len(state.needs)
    for step in range(1, count + 1):
        turn = (state.memory[0] + step) % count
        if state.waiting[state.memory[3 + count + turn]]:
            state.memory[0] = turn
            return True
    return False


@admission_rule(
    "static-quickswap",
    source=f"{PAPER}, section 4.3: drain; its authors' simulator (StaticMSF): authors",
    summary="the classes take turns; a class hands over when at most l_i of its slots are used",
    threshold=Option(None, "a whole number of slots", is_level),
    handover=Option("overlap", "overlap, drain or authors", lambda v: v in HANDOVERS),
)
class StaticQuickswap(FlatRule):
    """Static Quickswap: the classes of jobs are served in turns (section 4.3).

    A class works until none of its jobs waits and at most l_i run. Then the turn passes to the next
    class with a waiting job. The handover says when that class starts:

    ``drain``
        After the last job of the previous class has ended: the paper's text.
    ``overlap``
        At once, as servers become idle. The turn may pass on while jobs of several classes still
        run, which keeps servers busy: some 10% better than ``authors`` on the classes of Figure 5.
    ``authors``
        As servers become idle, but (a) the turn stays while a job of another class runs, (b) an
        arrival passes the turn on from a class without waiting jobs, whatever runs, and (c) after
        a pass the next class starts only at the next event. This is the authors' simulator.

    ``threshold`` is l_i in slots. By default it is floor(k/i) - 1, so that a class hands over as
    soon as it cannot fill its slots. The turns are in descending order of need.
    """

    def __init__(
        self, queue: Instance, threshold: int | None = None, handover: str = "overlap"
    ) -> None:
        room = slots(queue)
        most = max(room) - 1
        if threshold is not None and threshold > most:
            expected = f"a whole number from 0 to {most}"
            raise InputError(expected, found=quote(threshold), place="option threshold")
        limits = (min(most if threshold is None else threshold, fits - 1) for fits in room)
        mode, zeros = HANDOVERS.index(handover), [0] * len(room)
        memory = (0, 0, mode, *limits, *by_need(queue), *zeros)
        super().__init__(queue, static_quickswap, memory)
