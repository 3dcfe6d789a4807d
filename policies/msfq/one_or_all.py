"""Admission rules for two classes, of one server and of all: MSFQ, and two thresholds."""

from math import inf
from typing import Any

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_number
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import NONE, FlatRule, Seen, Twin
from schedopt.policies.msfq.rules import PAPER
from schedopt.policies.registry import NotApplicableError


def is_level(value: Any) -> bool:
    """Tell whether a value is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


THRESHOLD = Option(None, "a whole number from 0 to k - 1; k - 1 where left out", is_level)
VARIANT = Option("literal", "literal or lazy", lambda v: v in ("literal", "lazy"))
BOUND = Option(
    None, "a number >= 0; without bound where left out", lambda v: is_number(v) and v >= 0
)


def pair(queue: Instance, whose: str) -> tuple[int, int]:
    """Return the positions of small and large jobs; `NotApplicableError` if not one-or-all."""
    positions = queue.one_or_all
    if positions is None:
        raise NotApplicableError(f"{whose} needs classes of 1 and of {queue.servers} servers alone")
    return positions


def threshold_in(queue: Instance, threshold: int | None) -> int:
    """Return l, by default k - 1; `InputError` if it is not within 0..k-1."""
    if threshold is None:
        return queue.servers - 1
    if threshold >= queue.servers:
        raise InputError(
            f"a whole number from 0 to {queue.servers - 1}",
            found=shown(threshold),
            place="option threshold",
        )
    return threshold


def msfq(seen: Seen, free: int) -> int:
    """See `Msfq`; the memory: small, large, draining, left to start of a drain, l, lazy."""
    memory, waiting, running = seen.memory, seen.waiting, seen.running
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
    summary="MSF that drains once at most l small jobs are left (one-or-all)",
    twin=Twin(__name__, "msfq", phases=True),
    suits="alone",
    threshold=THRESHOLD,
    variant=VARIANT,
)
class Msfq(FlatRule):
    """MSF Quickswap: drain the small jobs once at most l of them are left.

    ``lazy`` drains only when a large job waits, as the paper's authors' simulator does.
    """

    def __init__(
        self, queue: Instance, threshold: int | None = None, variant: str = "literal"
    ) -> None:
        self.small, self.large = pair(queue, "msfq")
        self.threshold = self.most = threshold_in(queue, threshold)
        self.lazy = variant == "lazy"
        memory = (self.small, self.large, 0, 0, self.most, int(self.lazy))
        super().__init__(queue, msfq, memory)


def two_threshold(seen: Seen, free: int) -> int:
    """See `TwoThreshold`; the memory: small, large, l; the numbers: b0, b1, b2."""
    small, large = seen.memory[0], seen.memory[1]
    if seen.running[large]:
        return NONE
    few, many, c = seen.waiting[small], seen.waiting[large], seen.running[small]
    if not c and many and (not few or few < seen.numbers[0] + seen.numbers[1] * many):
        return large
    stop = c and many and c <= seen.memory[2] and few < seen.numbers[2]
    return small if few and free and not stop else NONE


@admission_rule(
    "two-threshold",
    source="read off the optimal policy: see formulations.msfq.optimal",
    summary="when to start a large job, and when to stop admitting small ones (one-or-all)",
    twin=Twin(__name__, "two_threshold"),
    suits="alone",
    threshold=THRESHOLD,
    b0=BOUND,
    b1=Option(0.0, "a number >= 0", lambda v: is_number(v) and v >= 0),
    b2=BOUND,
)
class TwoThreshold(FlatRule):
    """Two thresholds instead of one, the shape of the optimal policy.

    With empty servers a large job starts if fewer small ones wait than b0 + b1·(large ones
    waiting). With c small jobs running and a large one waiting, no small one starts while c <= l
    and fewer than b2 of them wait.

    Up to l = k - 2, without bounds, this is lazy MSFQ. At l = k - 1 it would drain at every
    completion that finds a large job waiting, however many small ones wait: so the default is
    k - 2.
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
