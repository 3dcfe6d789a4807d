"""Replays of a log, compiled: when each job starts under an order and a way to fill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedopt.instances.msfq.logs import Floats, Ints, Jobs
from schedopt.policies.msfq.logs.plain import HALF_LIFE, users

FILLS = ("stop", "skip", "easy")
"""In the order of their numbers in `order_kernels`."""
WEIGHED = ("wfp3", "least-served", "multifactor")
"""Orders that change with time, in the order of their numbers in `weight_kernels`."""
SLICE = 2_000_000
"""Events between two looks at whether somebody has interrupted."""


@dataclass(frozen=True)
class Order:
    """What a compiled replay plays; `rules` says what each means.

    Attributes
    ----------
    key : str
        ``arrival``, ``shortest``, ``longest``, ``smallest``, ``widest``, ``f1``, one of `WEIGHED`,
        or ``conservative``.
    fill : {"stop", "skip", "easy"}
    fill_key : str, optional
        Another order, fixed, in which others may pass the first; with ``arrival`` only.
    weights : dict of str to float
        Of ``multifactor``: ``age``, ``size``, ``fair_share`` and ``max_age``.
    half_life : float
        Of usage.
    """

    key: str
    fill: str = "stop"
    fill_key: str | None = None
    weights: dict[str, float] = field(default_factory=dict)
    half_life: float = HALF_LIFE


def replay(jobs: Jobs, servers: int, order: Order, planned: Floats | None = None) -> Floats:
    """Return when each job starts, shape (jobs,).

    Parameters
    ----------
    jobs : Jobs
    servers : int
    order : Order
    planned : ndarray of float, shape (jobs,), optional
        How long the policy believes that jobs run, never less than they do; they themselves by
        default.
    """
    planned = jobs.run if planned is None else planned
    if order.key == "conservative":
        return _conservative(jobs, servers, planned)
    if order.key in WEIGHED:
        return _weighed(jobs, servers, order, planned)
    return _ordered(jobs, servers, order, planned)


def keys(jobs: Jobs, planned: Floats, key: str) -> Floats | None:
    """Return what a fixed order goes by, the least first; None for the order of submit."""
    if key == "arrival":
        return None
    if key == "f1":
        from schedopt.policies.msfq.logs.key_kernels import f1

        found = np.empty(len(jobs))
        f1(jobs.submit, jobs.need, planned, found)
        return found
    known: dict[str, Callable[[], Floats]] = {
        "shortest": lambda: planned,
        "longest": lambda: -planned,
        "smallest": lambda: planned * jobs.need,
        "widest": lambda: -jobs.need.astype(np.float64),
    }
    return known[key]()


def _ordered(jobs: Jobs, servers: int, order: Order, planned: Floats) -> Floats:
    from schedopt.policies.msfq.logs import order_kernels
    from schedopt.policies.msfq.logs.line_kernels import BITS, NOBODY
    from schedopt.policies.msfq.logs.running_kernels import CAME, FREE, HEAD, WAITING

    n = len(jobs)
    by = keys(jobs, planned, order.fill_key or order.key)
    at: Ints = np.arange(n, dtype=np.int32)
    rank = at
    if by is not None:
        at = np.argsort(by, kind="stable").astype(np.int32)
        rank = np.empty(n, dtype=np.int32)
        rank[at] = np.arange(n, dtype=np.int32)
    sizes = [n]
    while len(sizes) < 2 or sizes[-1] > 1:
        sizes.append((sizes[-1] + (1 << BITS) - 1) >> BITS)
    base = np.concatenate([[0], np.cumsum(sizes[1:])]).astype(np.int64)
    whole, starts = np.zeros(9, np.int64), np.full(n, np.inf)
    whole[FREE], whole[HEAD] = servers, -1
    inputs: dict[str, Any] = {
        "submit": jobs.submit, "need": jobs.need, "run": jobs.run, "planned": planned,
        "rank": rank, "order": at, "oldest": order.key == "arrival",
        "fill": FILLS.index(order.fill), "most": SLICE, "whole": whole, "real": np.zeros(1),
        "starts": starts, "inside": np.zeros(n, np.uint8),
        "needs": np.full(base[-1], NOBODY, np.int64), "shortest": np.full(base[-1], 1e308),
        "base": base, "user": np.empty(0, np.int32), "rates": np.empty(0),
    }  # fmt: skip
    running = _running(jobs, servers, order.fill)
    while whole[CAME] < n or whole[WAITING]:
        order_kernels.advance(**inputs, **running)
    return starts


def _running(jobs: Jobs, servers: int, fill: str) -> dict[str, Any]:
    """Return room for the jobs that run at once; only what is used of it is ever real memory."""
    from schedopt.policies.msfq.logs.plan_kernels import ROOM

    most = min(len(jobs), servers // int(jobs.need.min())) + 1
    count = most // (ROOM // 4) + 4 if fill == "easy" else 0
    return {
        "heap_ends": np.empty(most), "heap_jobs": np.empty(most, np.int32),
        "blocks": np.arange(count), "ends": np.empty(count * ROOM),
        "jobs": np.empty(count * ROOM, np.int32), "held": np.empty(count * ROOM, np.int32),
        "count": np.zeros(count, np.int64), "total": np.zeros(count, np.int64),
    }  # fmt: skip


def _weighed(jobs: Jobs, servers: int, order: Order, planned: Floats) -> Floats:
    from schedopt.policies.msfq.logs import weight_kernels as kernels
    from schedopt.policies.msfq.logs.running_kernels import CAME, FREE, WAITING

    n = len(jobs)
    user, count = users(jobs)
    weights = np.zeros(6)
    for place, key in enumerate(("age", "size", "fair_share", "max_age")):  # as in the kernels
        weights[place] = order.weights.get(key, 0.0)
    weights[kernels.HALF_LIFE], weights[kernels.SERVERS] = order.half_life, servers
    whole, starts = np.zeros(9, np.int64), np.full(n, np.inf)
    whole[FREE] = servers
    inputs: dict[str, Any] = {
        "submit": jobs.submit, "need": jobs.need, "run": jobs.run, "planned": planned,
        "user": np.asarray(user, dtype=np.int32), "kind": WEIGHED.index(order.key),
        "fill": FILLS.index(order.fill), "weights": weights, "most": SLICE, "whole": whole,
        "real": np.full(1, -np.inf), "starts": starts, "line": np.zeros(n, np.int32),
        "keys": np.zeros(n), "usage": np.zeros(count), "rates": np.zeros(count),
    }  # fmt: skip
    running = _running(jobs, servers, order.fill)
    while whole[CAME] < n or whole[WAITING]:
        kernels.advance(**inputs, **running)
    return starts


def _conservative(jobs: Jobs, servers: int, planned: Floats) -> Floats:
    from schedopt.policies.msfq.logs import conservative_kernels as kernels

    n = len(jobs)
    most = min(n, servers // int(jobs.need.min())) + 1
    whole, starts = np.zeros(10, np.int64), np.full(n, np.inf)
    whole[[kernels.HIGH, kernels.FIRST, kernels.LAST]] = 1, -1, -1
    inputs: dict[str, Any] = {
        "submit": jobs.submit, "need": jobs.need, "run": jobs.run, "planned": planned,
        "most": SLICE, "whole": whole, "starts": starts, "reserved": np.full(n, np.inf),
        "after": np.empty(n, np.int32), "above": np.empty(n, np.int32),
        "heap_ends": np.empty(most), "heap_jobs": np.empty(most, np.int32),
    }  # fmt: skip
    grown: dict[str, Any] = {
        "alarms": np.empty(4096), "alarm_jobs": np.empty(4096, np.int32),
        "times": np.full(4096, -np.inf), "room": np.full(4096, servers, np.int64),
        "places": np.empty(4096, np.int64), "levels": np.empty(4096, np.int64),
    }  # fmt: skip
    while whole[kernels.CAME] < n or whole[kernels.WAITING]:
        kernels.advance(**inputs, **grown)
        if whole[kernels.FULL]:
            grown = _more(grown, whole)
    return starts


def _more(grown: dict[str, Any], whole: Any) -> dict[str, Any]:
    """Move the profile to the front of its arrays, and double what is still crowded."""
    from schedopt.policies.msfq.logs import conservative_kernels as kernels

    low, high = int(whole[kernels.LOW]), int(whole[kernels.HIGH])
    for key in ("times", "room"):
        grown[key][: high - low] = grown[key][low:high].copy()
    whole[[kernels.LOW, kernels.HIGH]] = 0, high - low
    jobs = int(whole[kernels.WAITING] + whole[kernels.RUNNING])
    if 2 * (2 * jobs + 2 * kernels.SPARE) > len(grown["times"]):
        for key in ("times", "room", "places", "levels"):
            grown[key] = np.concatenate([grown[key], grown[key]])
    if 2 * (whole[kernels.ALARMS] + jobs + kernels.SPARE) > len(grown["alarms"]):
        for key in ("alarms", "alarm_jobs"):
            grown[key] = np.concatenate([grown[key], grown[key]])
    return grown
