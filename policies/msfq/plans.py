"""A policy with its parameters for an instance: as a plain rule, and as the kernel wants it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import fsum, inf
from typing import Any

import numpy as np

from instances.errors import InputError, shown
from instances.msfq import Instance
from policies.msfq import rules
from policies.msfq.rules import Rule
from policies.registry import NotApplicableError

FCFS, FIRST_FIT, MSF, MSFQ, TWO_THRESHOLD, STATIC, ADAPTIVE, NMSR = range(8)
"""As in `admission_kernels`, which is not imported before something is simulated."""


@dataclass(frozen=True)
class Plan:
    """What is to be played.

    Attributes
    ----------
    code : int
        The compiled rule.
    rule : callable
        Makes the plain rule, without any memory yet.
    memory : tuple of int
        What the compiled rule begins with.
    numbers : tuple of float
        Its parameters that are not whole.
    limits, order : tuple of int
        Static Quickswap's thresholds by class, and its cycle.
    holding : tuple of float
        nMSR's mean times.
    """

    code: int
    rule: Callable[[], Rule]
    memory: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    numbers: tuple[float, ...] = (0.0, 0.0, 0.0)
    limits: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    holding: tuple[float, ...] = field(default=())


def slots(queue: Instance) -> tuple[int, ...]:
    """Return how many jobs of each class fit together: floor(k / need)."""
    return tuple(queue.servers // job.need for job in queue.classes)


def pair(queue: Instance, whose: str) -> tuple[int, int]:
    """Return the positions of small and large jobs.

    Raises
    ------
    NotApplicableError
        If the system is not one-or-all.
    """
    found = queue.one_or_all
    if found is None:
        raise NotApplicableError(f"{whose} needs classes of 1 and of {queue.servers} servers alone")
    return found


def threshold_in(queue: Instance, threshold: int | None) -> int:
    """Return l, k - 1 where none is given.

    Raises
    ------
    InputError
        If it is not within 0..k-1.
    """
    if threshold is None:
        return queue.servers - 1
    if threshold >= queue.servers:
        raise InputError(
            f"a whole number from 0 to {queue.servers - 1}",
            found=shown(threshold),
            place="option threshold",
        )
    return threshold


def plain(code: int, rule: Rule) -> Plan:
    """Return the plan of a rule without memory or parameters."""
    return Plan(code, lambda: rule)


def adaptive() -> Plan:
    """Return Adaptive Quickswap's plan."""
    return Plan(ADAPTIVE, rules.AdaptiveQuickswap)


def msfq(queue: Instance, threshold: int | None = None, variant: str = "literal") -> Plan:
    """Return MSFQ's plan."""
    small, large = pair(queue, "msfq")
    l, lazy = threshold_in(queue, threshold), variant == "lazy"
    return Plan(
        MSFQ, lambda: rules.Msfq(small, large, l, lazy), memory=(small, large, 0, 0, l, int(lazy))
    )


def two_threshold(
    queue: Instance,
    threshold: int | None = None,
    b0: float = inf,
    b1: float = 0.0,
    b2: float = inf,
) -> Plan:
    """Return the two-threshold rule's plan; up to l = k - 2, without bounds, it is lazy MSFQ.

    At l = k - 1 it would drain at every completion that finds a large job waiting, however many
    small ones wait: so the default is k - 2.
    """
    small, large = pair(queue, "two-threshold")
    l = threshold_in(queue, max(0, queue.servers - 2) if threshold is None else threshold)
    return Plan(
        TWO_THRESHOLD,
        lambda: rules.TwoThreshold(small, large, l, b0, b1, b2),
        memory=(small, large, l),
        numbers=(b0, b1, b2),
    )


def static(
    queue: Instance,
    threshold: int | str | None = None,
    handover: str = "overlap",
    order: str | int = "descending",
) -> Plan:
    """Return Static Quickswap's plan.

    Parameters
    ----------
    threshold : int or str, optional
        l_i in slots: one for all classes, or one for each with commas between; floor(k/i) - 1 by
        default, so that a class hands over as soon as it cannot fill its slots.
    handover : {"overlap", "drain"}
        Whether the next class enters as servers free.
    order : str
        ``descending`` or ``ascending`` needs, or the needs with commas between.
    """
    room = slots(queue)
    limits = _limits(room, threshold)
    cycle = _cycle(queue, str(order))
    overlap = handover == "overlap"
    return Plan(
        STATIC,
        lambda: rules.StaticQuickswap(cycle, room, limits, overlap),
        memory=(0, 0, int(overlap)),
        limits=limits,
        order=cycle,
    )


def _limits(room: tuple[int, ...], threshold: int | str | None) -> tuple[int, ...]:
    if threshold is None:
        return tuple(most - 1 for most in room)
    if isinstance(threshold, int):
        if threshold >= max(room):
            expected = f"a whole number from 0 to {max(room) - 1}"
            raise InputError(expected, found=shown(threshold), place="option threshold")
        return tuple(min(threshold, most - 1) for most in room)
    given = _whole(threshold, "option threshold")
    if len(given) != len(room) or any(
        not 0 <= l < most for l, most in zip(given, room, strict=False)
    ):
        expected = f"one for each class, below {', '.join(map(str, room))}"
        raise InputError(expected, found=shown(threshold), place="option threshold")
    return given


def _cycle(queue: Instance, order: str) -> tuple[int, ...]:
    needs = [job.need for job in queue.classes]
    by_need = sorted(range(len(needs)), key=lambda c: needs[c])
    if order in ("descending", "ascending"):
        return tuple(by_need if order == "ascending" else by_need[::-1])
    given = _whole(order, "option order")
    if sorted(given) != sorted(needs):
        expected = f"the needs {', '.join(map(str, needs))}, each once"
        raise InputError(expected, found=shown(order), place="option order")
    return tuple(needs.index(need) for need in given)


def _whole(text: str, place: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            "whole numbers with commas between", found=shown(text), place=place
        ) from None


def nmsr(queue: Instance, cycle_rate: float | None = None) -> Plan:
    """Return nMSR's plan.

    The paper states neither schedules nor weights nor rates. Here each class has one schedule, as
    many of its jobs as fit; it is held in proportion to the servers' time that the class asks for,
    λ_i/(floor(k/i)·μ_i). ``cycle_rate`` is c: a cycle takes 1/c on average. By default switching,
    which idles servers until the last of floor(k/i) jobs ends, costs half of the time to spare.
    """
    room = slots(queue)
    asked = [job.arrival_rate / (job.service_rate * most)
             for job, most in zip(queue.classes, room, strict=True)]  # fmt: skip
    if cycle_rate is None:
        lost = fsum(
            float(np.sum(1.0 / np.arange(1, most + 1))) / job.service_rate
            for job, most in zip(queue.classes, room, strict=True)
        )
        cycle_rate = max(1e-9, 1.0 - fsum(asked)) / (2.0 * lost)
    holding = tuple(one / fsum(asked) / cycle_rate for one in asked)
    return Plan(NMSR, lambda: rules.Nmsr(room), holding=holding)


def arrays(queue: Instance, plan: Plan) -> dict[str, Any]:
    """Return what the kernel wants to know of the policy, by the kernel's names."""
    count = len(queue.classes)
    needs = [job.need for job in queue.classes]
    whole = np.int64
    return {
        "policy": plan.code,
        "memory": np.array((*plan.memory, 0, 0), dtype=whole),
        "numbers": np.array(plan.numbers, dtype=np.float64),
        "slots": np.array(slots(queue), dtype=whole),
        "limits": np.array(plan.limits or [0] * count, dtype=whole),
        "by_need": np.array(sorted(range(count), key=lambda c: -needs[c]), dtype=whole),
        "order": np.array(plan.order or range(count), dtype=whole),
        "holding": np.array(plan.holding or [1.0] * count, dtype=np.float64),
    }
