"""Replays of a log: the start of each job under an order and a way of backfilling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Ints, Jobs
from schedopt.instances.msfq.site import Priority
from schedopt.policies.registry import NotApplicableError

if TYPE_CHECKING:
    from schedopt.policies.msfq.logs.kernels import JobOrder, Log, ReplayState

FILLS = ("stop", "skip", "easy")
"""Numbered in this order in `kernels`."""


@dataclass(frozen=True)
class Order:
    """The order of the jobs in a replay, and what follows the first job that does not fit.

    ``key`` is one of `KEYS`, ``wfp3``, ``weighted`` (with the weights of ``priority``) or
    ``conservative``; ``fill`` is one of `FILLS`. With ``arrival``, jobs may pass the first in
    another fixed order, the ``fill_key``.
    """

    key: str
    fill: str = "stop"
    fill_key: str | None = None
    priority: Priority = field(default_factory=Priority)

    def expect_suits(self, queue: Instance) -> None:
        """Raise `NotApplicableError` if a log lacks a column that priorities require."""
        site = self.priority
        asked = {"qos": site.qos_by} if site.weights.qos else {}
        if site.weights.fair_share:
            asked["fair_share"] = site.by
        for what, column in asked.items():
            if queue.jobs.labels(column) is None:
                raise NotApplicableError(
                    f"{what} requires the column {column}, which this log does not have"
                )


@dataclass(frozen=True)
class Replay:
    """A replay of a log under an order: the state of the machine and of the discipline.

    ``loop`` advances it and is compiled; ``serve`` and ``note_end`` are the discipline's functions.
    """

    order: Order
    capacity: tuple[int, ...]
    names: tuple[str, ...]
    log: Log
    machine: ReplayState
    own: Any
    loop: Callable[..., None]
    serve: Callable[..., None]
    note_end: Callable[..., None]

    def run(self, before: float = inf) -> Floats:
        """Replay all events before a time; return the start of each job, infinite before it."""
        self.loop(self.log, self.machine, self.own, before)
        starts: Floats = self.machine.starts
        return starts


def prepare(
    jobs: Jobs,
    servers: int,
    order: Order,
    planned: Floats | None = None,
    amounts: Sequence[int] = (),
) -> Replay:
    """Return a replay that has not begun, on a machine without partitions.

    The policy expects the run times ``planned``, at least the actual ones, which are the default.
    ``amounts`` are the capacities of the resources that jobs need in addition to servers.
    """
    from schedopt.policies.msfq.logs import kernels

    planned = jobs.run if planned is None else planned
    beside = [] if jobs.needs is None else [jobs.needs.amounts]
    need = np.column_stack([jobs.need.astype(np.int64), *beside])
    log = kernels.Log(jobs.submit, need, jobs.run, planned, sizes(jobs, servers, amounts))
    n, most = len(jobs), min(len(jobs), servers // int(jobs.need.min())) + 1
    machine = kernels.ReplayState(
        whole=np.zeros(3, np.int64),
        starts=np.full(n, np.inf),
        ends=np.empty(most),
        jobs=np.empty(most, np.int64),
        left=np.array([servers, *amounts], np.int64),
        line=np.zeros(n + 1, np.int64),
        alarm=np.full(1, np.inf),
    )
    names, capacity = jobs.needs.names if jobs.needs else (), (servers, *amounts)
    functions: tuple[Any, Any, Any]
    if order.key == "conservative":
        functions = (
            kernels.conservative,
            kernels.start_reserved,
            kernels.free_reservation,
        )
        steps = 2 * n + 8
        own: Any = kernels.Reservations(
            at=np.array([1, 0]),
            reserved=np.empty(n),
            times=np.full(steps, -np.inf),
            room=np.tile(machine.left, (steps, 1)),
        )
    else:
        functions = kernels.in_order, kernels.start_jobs, kernels.end_job
        own = _job_order(jobs, servers, order, log)
    return Replay(order, capacity, names, log, machine, own, *functions)


def _job_order(jobs: Jobs, servers: int, order: Order, log: Log) -> JobOrder:
    from schedopt.policies.msfq.logs import kernels

    n, site = len(jobs), order.priority
    user, known = accounts(jobs, site.by)
    shares = [site.shares.get(name or "", 1.0) for name in known]
    kinds = {"wfp3": kernels.WFP3, "weighted": kernels.WEIGHTED}
    key, weighted = order.fill_key or order.key, order.key == "weighted"
    return kernels.JobOrder(
        kind=kinds.get(order.key, kernels.FIXED),
        fill=FILLS.index(order.fill),
        oldest=order.key == "arrival",
        keys=KEYS[key](log) if key in KEYS else np.zeros(n),
        constant=_constant_priorities(jobs, servers, site, log) if weighted else np.zeros(n),
        age=site.weights.age,
        fair_share=site.weights.fair_share,
        max_age=site.max_age,
        half_life=site.half_life,
        user=user.astype(np.int64),
        shares=np.array([sum(shares) / share for share in shares]),
        used=np.zeros(len(known)),
        rates=np.zeros(len(known)),
        by_user=np.zeros(len(known)),
        updated=np.full(1, -np.inf),
        spare=np.zeros(log.need.shape[1], np.int64),
    )


def _constant_priorities(jobs: Jobs, servers: int, site: Priority, log: Log) -> Floats:
    quality = _level_of_each_job(jobs, site.qos_by, site.qos)
    constant: Floats = site.weights.size * (log.size / servers) + site.weights.qos * quality
    return constant


def _level_of_each_job(jobs: Jobs, by: str, levels: Mapping[str, float]) -> Floats:
    if not levels or (names := jobs.labels(by)) is None:
        return np.zeros(len(jobs))
    each = [levels.get(name, 0.0) for name in names.names]
    by_code: Floats = np.array([*each, 0.0])[names.codes]
    return by_code


def _log10(values: Floats) -> Floats:
    """Return logarithms as the C library computes them, the same on every machine."""
    return np.array([log10(value) for value in values.tolist()])


KEYS: Mapping[str, Callable[[Log], Floats]] = {
    "arrival": lambda log: np.zeros(len(log.submit)),
    "shortest": lambda log: log.planned,
    "longest": lambda log: -log.planned,
    "smallest": lambda log: log.planned * log.size,
    "widest": lambda log: -log.size,
    "f1": lambda log: (
        _log10(np.maximum(log.planned, 1.0)) * log.size
        + 870.0 * _log10(np.maximum(log.submit, 1.0))
    ),
}
"""The keys of each fixed order; the least goes first."""


def accounts(jobs: Jobs, by: str = "user") -> tuple[Ints, list[str | None]]:
    """Return each job's user by number, and the users' names; the last stands for unknown users."""
    labels = jobs.labels(by)
    if labels is None:
        return np.zeros(len(jobs), np.int32), [None]
    count = len(labels.names)
    return np.where(labels.codes < 0, count, labels.codes), [*labels.names, None]


def sizes(jobs: Jobs, servers: int, amounts: Sequence[int]) -> Floats:
    """Return the servers of each job; with other resources, its dominant share in servers.

    Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011.
    """
    largest: Floats = jobs.need.astype(np.float64)
    if jobs.needs is not None:
        for column, most in zip(jobs.needs.amounts.T, amounts, strict=True):
            largest = np.maximum(largest, column * (servers / max(most, 1)))
    return largest
