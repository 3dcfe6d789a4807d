"""The policies by name, with their options; all are simulated."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import msgspec

from instances.errors import InputError, shown
from instances.msfq import Instance, Simulated
from instances.options import Option, is_count, is_number
from policies.msfq import plans, rules
from policies.msfq.plans import Plan
from policies.msfq.stability import Region, require_stable
from policies.registry import Policy, UnstableError, register

PAPER = "Chen et al., Improving Nonpreemptive Multiserver Job Scheduling with Quickswap, 2025"
ARRIVALS = 1_000_000
GROWTH = 3.0
"""A mean response time that so much grows from the first to the last quarter grows for ever."""


def _is_level(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


COMMON = {
    "arrivals": Option(ARRIVALS, "a whole number from 1000 to 10^11",
                       lambda v: is_count(v) and 1000 <= v <= 10**11),
    "trace": Option(None, "a file of arrivals: .csv (time, need, size) or .swf",
                    lambda v: isinstance(v, str)),
}  # fmt: skip
THRESHOLD = Option(None, "a whole number from 0 to k - 1; k - 1 where left out", _is_level)
VARIANT = Option("literal", "literal or lazy", lambda v: v in ("literal", "lazy"))
BOUND = Option(
    None, "a number >= 0; without bound where left out", lambda v: is_number(v) and v >= 0
)

PLANS: dict[str, Callable[..., Plan]] = {}
"""For each policy, its plan from an instance and its own options."""


def policy(
    name: str, *, source: str, summary: str, **options: Option
) -> Callable[[Callable[..., Plan]], Callable[..., Plan]]:
    """Register a function that makes a policy's plan from an instance and its options."""

    def decorate(plan: Callable[..., Plan]) -> Callable[..., Plan]:
        def run(
            queue: Instance, *, seed: int = 0, arrivals: int = ARRIVALS,
            trace: str | None = None, **own: Any,
        ) -> Simulated:  # fmt: skip
            return simulated(queue, name, plan(queue, **own), seed, arrivals, trace)

        PLANS[name] = plan
        register(
            Policy(
                name=name,
                problem="msfq",
                run=run,
                source=source,
                summary=summary,
                options={**options, **COMMON},
                random=True,
            )
        )
        return plan

    return decorate


def simulated(  # noqa: PLR0917
    queue: Instance, name: str, plan: Plan, seed: int, arrivals: int, trace: str | None = None
) -> Simulated:
    """Simulate a policy after making sure that it can be stable.

    Raises
    ------
    UnstableError
        If it is not, or if nothing is known and the queue keeps growing.
    InputError
        If the seed or the trace is not right.
    """
    from policies.msfq.simulation import play, summary

    if not 0 <= seed < 2**31:
        raise InputError("a whole number from 0 to 2^31 - 1", found=shown(seed), place="seed")
    read = None
    if trace is not None:
        from instances.msfq.traces import read_trace

        read = read_trace(trace, queue)
        arrivals = len(read.times)
        played = play(queue, plan, arrivals=arrivals, seed=seed, trace=read, each=True)
    else:
        region = require_stable(queue, name)
        played = play(queue, plan, arrivals=arrivals, seed=seed)
        if not region.exact:
            _growing(played, name, region)
    threshold = plan.memory[4] if plan.code == plans.MSFQ else msgspec.UNSET
    if plan.code == plans.TWO_THRESHOLD:
        threshold = plan.memory[2]
    return summary(queue, played, arrivals, threshold, read)


def _growing(played: Any, name: str, region: Region) -> None:
    """Raise where no region is known exactly, and the simulation shows that the queue grows."""
    sums, counts = played.sums.sum(axis=1), played.counts.sum(axis=1)
    quarter = len(sums) // 4
    if quarter < 2:
        return
    early = sums[:quarter].sum() / max(1, counts[:quarter].sum())
    late = sums[-quarter:].sum() / max(1, counts[-quarter:].sum())
    if late > GROWTH * early and played.most > 0.01 * counts.sum():
        raise UnstableError(
            f"the queue kept growing under {name} at a load of {region.load:.6g}: mean response "
            f"times from {early:.4g} to {late:.4g}, up to {played.most} jobs in the system"
        )


@policy("fcfs", source=f"{PAPER}, section 1.1", summary="first come, first served")
def fcfs(queue: Instance) -> Plan:
    """First come, first served."""
    return plans.plain(plans.FCFS, rules.fcfs)


@policy("first-fit", source=f"{PAPER}, section 1.1", summary="the first of those that fit")
def first_fit(queue: Instance) -> Plan:
    """FCFS that skips jobs which do not fit."""
    return plans.plain(plans.FIRST_FIT, rules.first_fit)


@policy("msf", source=f"{PAPER}, section 4.1", summary="of those that fit, the most servers first")
def msf(queue: Instance) -> Plan:
    """Most Servers First."""
    return plans.plain(plans.MSF, rules.msf)


@policy(
    "msfq",
    source=f"{PAPER}, section 4.2",
    summary="MSF that drains once at most l small jobs are left (one-or-all)",
    threshold=THRESHOLD,
    variant=VARIANT,
)
def msfq(queue: Instance, threshold: int | None = None, variant: str = "literal") -> Plan:
    """MSF Quickswap."""
    return plans.msfq(queue, threshold, variant)


@policy(
    "two-threshold",
    source="read off the optimal policy: see formulations.msfq.optimal",
    summary="when to start a large job, and when to stop admitting small ones (one-or-all)",
    threshold=THRESHOLD,
    b0=BOUND,
    b1=Option(0.0, "a number >= 0", lambda v: is_number(v) and v >= 0),
    b2=BOUND,
)
def two_threshold(
    queue: Instance,
    threshold: int | None = None,
    b0: float | None = None,
    b1: float = 0.0,
    b2: float | None = None,
) -> Plan:
    """Two thresholds: see `rules.TwoThreshold`."""
    return plans.two_threshold(
        queue, threshold, inf if b0 is None else b0, b1, inf if b2 is None else b2
    )


@policy(
    "static-quickswap",
    source=f"{PAPER}, section 4.3; overlap: its authors' simulator",
    summary="one class after the other; hands over once at most l_i of its slots are used",
    threshold=Option(
        None,
        "a whole number of slots, or one for each class with commas between",
        lambda v: _is_level(v) or isinstance(v, str),
    ),
    handover=Option("overlap", "overlap or drain", lambda v: v in ("overlap", "drain")),
    order=Option(
        "descending",
        "descending, ascending, or the needs with commas between",
        lambda v: isinstance(v, str) or is_count(v),
    ),
)
def static_quickswap(
    queue: Instance,
    threshold: int | str | None = None,
    handover: str = "overlap",
    order: str | int = "descending",
) -> Plan:
    """Return the plan of Static Quickswap."""
    return plans.static(queue, threshold, handover, order)


@policy(
    "adaptive-quickswap",
    source=f"{PAPER}, section 4.4",
    summary="MSF that drains once it serves only what keeps another class waiting",
)
def adaptive_quickswap(queue: Instance) -> Plan:
    """Adaptive Quickswap."""
    return plans.adaptive()


@policy(
    "nmsr",
    source="Chen, Grosof and Berg, POMACS 9, 2025 (the paper's reference 12)",
    summary="a random cycle of schedules, blind to the queues",
    cycle_rate=Option(None, "cycles per unit of time, above 0", lambda v: is_number(v) and v > 0),
)
def nmsr(queue: Instance, cycle_rate: float | None = None) -> Plan:
    """Nonpreemptive Markovian service rates."""
    return plans.nmsr(queue, cycle_rate)
