"""Replays of a log: the start of each job under an order and a way of backfilling."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec.structs import astuple

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Ints, Jobs, Needs
from schedopt.instances.msfq.site import Limit, Priority
from schedopt.policies.registry import NotApplicableError

if TYPE_CHECKING:
    from schedopt.policies.msfq.logs.conservative_kernels import Reservations
    from schedopt.policies.msfq.logs.discipline_kernels import ChangingOrder, FixedOrder
    from schedopt.policies.msfq.logs.event_loop_kernels import Log, ReplayState
    from schedopt.policies.msfq.logs.planned_end_kernels import PlannedEnds

FILLS = ("stop", "skip", "easy")
"""Numbered in this order in `discipline_kernels`."""


LONG = "long jobs' servers, limit "
"""The beginning of the names of resources that represent limits."""


@dataclass(frozen=True)
class Order:
    """The order of the jobs in a replay, and what follows the first job that does not fit.

    Attributes
    ----------
    key : str
        ``arrival``, ``shortest``, ``longest``, ``smallest``, ``widest``, ``f1``, ``wfp3``,
        ``weighted`` or ``conservative``.
    fill : str
        One of `FILLS`.
    fill_key : str, optional
        With ``arrival``, another fixed order in which jobs may pass the first.
    priority : Priority
        The weights of ``weighted``.
    """

    key: str
    fill: str = "stop"
    fill_key: str | None = None
    priority: Priority = field(default_factory=Priority)

    def expect_suits(self, queue: Instance) -> None:
        """Raise `NotApplicableError` if a log lacks a column that priorities require."""
        site = self.priority
        asked = {"qos": site.qos_by} if site.weights.qos else {}
        if site.weights.fair_share or site.weights.usage:
            asked["usage"] = site.by
        for what, column in asked.items():
            if queue.jobs.labels(column) is None:
                raise NotApplicableError(
                    f"{what} requires the column {column}, which this log does not have"
                )


class Site(NamedTuple):
    """A machine without partitions: its servers, and its capacity of each other resource."""

    servers: int
    amounts: Sequence[int] = ()


def replay(
    jobs: Jobs,
    servers: int,
    order: Order,
    planned: Floats | None = None,
    amounts: Sequence[int] = (),
    *,
    pause: int = 2_000_000,
) -> Floats:
    """Return the start of each job, shape (jobs,), on a machine without partitions: see `prepare`.

    The start of a job that never starts is infinite. The compiled loop returns after ``pause``
    events, so that it can be interrupted.
    """
    prepared = prepare(jobs, servers, order, planned, amounts)
    while not prepared.is_over:
        prepared.run(pause)
    return prepared.starts


def prepare(
    jobs: Jobs,
    servers: int,
    order: Order,
    planned: Floats | None = None,
    amounts: Sequence[int] = (),
) -> Replay:
    """Return a replay that has not begun, on a machine without partitions.

    Parameters
    ----------
    jobs : Jobs
        The log.
    servers : int
        Of the machine.
    order : Order
        The discipline.
    planned : ndarray, shape (jobs,), optional
        The run times that the policy expects, at least the actual ones, which are the default.
    amounts : sequence of int
        The capacity of each resource that jobs need in addition to servers.
    """
    from schedopt.policies.msfq.logs import conservative_kernels
    from schedopt.policies.msfq.logs import discipline_kernels as kernels

    runs = jobs.run if planned is None else planned
    jobs, amounts = with_limits(jobs, servers, runs, amounts, order.priority.limits)
    site, log = Site(servers, amounts), log_of(jobs, servers, planned, amounts)
    machine = machine_of(jobs, site)
    fixed = kernels.fixed_order, kernels.start_jobs_fixed, kernels.end_job_fixed
    changing = kernels.changing_order, kernels.start_jobs_changing, kernels.end_job_changing
    keep = conservative_kernels
    functions: tuple[Any, Any, Any] = fixed
    if order.key == "conservative":
        functions = keep.conservative, keep.start_jobs, keep.end_job
        own: Any = _reservations(jobs, machine)
    elif order.key == "wfp3" or (order.key == "weighted" and _changes(order.priority)):
        functions, own = changing, _changing_order(jobs, site, order, log)
    else:
        own = _fixed_order(jobs, site, order, log)
    names = jobs.needs.names if jobs.needs else ()
    return Replay(order, servers, tuple(amounts), names, log, machine, own, *functions)


@dataclass(frozen=True)
class Replay:
    """A replay of a log under an order: the state of the machine and of the discipline.

    ``loop`` advances it and is compiled; ``serve`` and ``note_end`` are the discipline's functions.
    """

    order: Order
    servers: int
    amounts: tuple[int, ...]
    names: tuple[str, ...]
    log: Log
    machine: ReplayState
    own: Any
    loop: Any
    serve: Any
    note_end: Any

    def run(self, events: int) -> None:
        """Replay so many events."""
        if events:
            self.loop(self.log, self.machine, self.own, events)

    @property
    def starts(self) -> Floats:
        """The start of each job; infinite before it."""
        starts: Floats = self.machine.starts
        return starts

    @property
    def waiting(self) -> int:
        """The number of waiting jobs."""
        from schedopt.policies.msfq.logs.event_loop_kernels import WAITING

        return int(self.machine.whole[WAITING])

    @property
    def is_over(self) -> bool:
        """Whether all jobs have started, or the waiting jobs can never start."""
        from schedopt.policies.msfq.logs.event_loop_kernels import CAME, STUCK

        whole = self.machine.whole
        return bool(whole[STUCK]) or (whole[CAME] == len(self.log.submit) and not self.waiting)

    @property
    def next_event(self) -> float:
        """The time of the next release, end, or reservation that is due."""
        from schedopt.policies.msfq.logs.event_loop_kernels import CAME, RUNNING

        whole, times = self.machine.whole, [float(self.machine.alarm[0])]
        if whole[CAME] < len(self.log.submit):
            times.append(float(self.log.submit[whole[CAME]]))
        if whole[RUNNING]:
            times.append(float(self.machine.ends[0]))
        return min(times)


def accounts(jobs: Jobs, by: str = "user") -> tuple[Ints, list[str | None]]:
    """Return each job's user by number, and the users' names; the last stands for unknown users."""
    labels = jobs.labels(by)
    if labels is None:
        return np.zeros(len(jobs), np.int32), [None]
    count = len(labels.names)
    return np.where(labels.codes < 0, count, labels.codes), [*labels.names, None]


def with_limits(
    jobs: Jobs, servers: int, planned: Floats, amounts: Sequence[int], limits: Sequence[Limit]
) -> tuple[Jobs, Sequence[int]]:
    """Return jobs and capacities with a resource for each limit: servers of its long jobs."""
    if not limits:
        return jobs, amounts
    columns = dict(zip(jobs.needs.names, jobs.needs.amounts.T, strict=True)) if jobs.needs else {}
    most = [max(1, int(limit.most * servers)) for limit in limits]
    for number, (limit, few) in enumerate(zip(limits, most, strict=True)):
        held = np.where(planned > limit.longer_than, np.minimum(jobs.need, few), 0)
        columns[f"{LONG}{number}"] = held.astype(np.int64)
    return dataclasses.replace(jobs, needs=Needs.of(columns)), (*amounts, *most)


def sizes(jobs: Jobs, servers: int, amounts: Sequence[int]) -> Floats:
    """Return the servers of each job; with other resources, its dominant share in servers.

    Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011.
    """
    largest: Floats = jobs.need.astype(np.float64)
    if jobs.needs is not None:
        for name, column, most in zip(jobs.needs.names, jobs.needs.amounts.T, amounts, strict=True):
            if name.startswith(LONG):
                continue
            largest = np.maximum(largest, column * (servers / max(most, 1)))
    return largest


def log_of(
    jobs: Jobs, servers: int, planned: Floats | None = None, amounts: Sequence[int] = ()
) -> Log:
    """Return jobs as kernels read them."""
    from schedopt.policies.msfq.logs.event_loop_kernels import Log

    beside = [] if jobs.needs is None else [jobs.needs.amounts]
    need = np.column_stack([jobs.need.astype(np.int64), *beside])
    planned = jobs.run if planned is None else planned
    return Log(jobs.submit, need, jobs.run, planned, sizes(jobs, servers, amounts))


def keys(log: Log, key: str) -> Floats:
    """Return the keys of a fixed order; the least goes first."""
    if key == "f1":
        from schedopt.policies.msfq.logs.discipline_kernels import f1

        values = np.empty(len(log.submit))
        f1(log.submit, log.size, log.planned, values)
        return values
    known: dict[str, Callable[[], Floats]] = {
        "arrival": lambda: np.zeros(len(log.submit)),
        "shortest": lambda: log.planned,
        "longest": lambda: -log.planned,
        "smallest": lambda: log.planned * log.size,
        "widest": lambda: -log.size.astype(np.float64),
    }
    return known[key]()


def _fixed_order(jobs: Jobs, site: Site, order: Order, log: Log) -> FixedOrder:
    """Return the state of a fixed order."""
    from schedopt.policies.msfq.logs import discipline_kernels as kernels
    from schedopt.policies.msfq.logs.waiting_line_kernels import AGES, BITS, NOBODY, Line

    n, resources = log.need.shape
    at: Ints = np.arange(n, dtype=np.int32)
    rank = at
    if order.key != "arrival" or order.fill_key:
        if order.key == "weighted":
            by = -_constant_priorities(jobs, site, order, log)
        else:
            by = keys(log, order.fill_key or order.key)
        at = np.argsort(by, kind="stable").astype(np.int32)
        rank = np.empty(n, dtype=np.int32)
        rank[at] = np.arange(n, dtype=np.int32)
    sizes = [n]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + (1 << BITS) - 1) >> BITS)
    nodes = sum(sizes)
    return kernels.FixedOrder(
        line=Line(
            rank,
            at,
            needs=np.full((nodes, resources), NOBODY),
            shortest=np.full(nodes, AGES),
            base=np.cumsum([0, *sizes]),
            anything=np.full(resources, NOBODY - 1),
        ),
        oldest=order.key == "arrival",
        fill=FILLS.index(order.fill),
        plan=_planned_end_buffers(jobs, site, order.fill),
        over=np.zeros(resources, np.int64),
    )


def machine_of(jobs: Jobs, site: Site) -> ReplayState:
    """Return a machine on which no job runs."""
    from schedopt.policies.msfq.logs.event_loop_kernels import NEVER, ReplayState

    most = _room_for_running(jobs, site)
    return ReplayState(
        whole=np.zeros(6, np.int64),
        starts=np.full(len(jobs), np.inf),
        ends=np.empty(most),
        jobs=np.empty(most, np.int32),
        left=np.array([site.servers, *site.amounts], np.int64),
        alarm=np.full(1, NEVER),
    )


def _room_for_running(jobs: Jobs, site: Site) -> int:
    """Return the most jobs that may run at the same time, plus one."""
    return min(len(jobs), site.servers // int(jobs.need.min())) + 1


def _planned_end_buffers(jobs: Jobs, site: Site, fill: str) -> PlannedEnds:
    """Return room for planned ends; none where the discipline does not use them."""
    from schedopt.policies.msfq.logs.planned_end_kernels import PlannedEnds

    most = _room_for_running(jobs, site) if fill == "easy" else 0
    return PlannedEnds(np.empty(most), np.empty(most, np.int32))


def _changes(site: Priority) -> bool:
    """Return True if the order of waiting jobs can change as time passes."""
    w = site.weights
    return bool(w.age or w.stretch or w.fair_share or w.usage)


def _weights(site: Site, order: Order) -> Floats:
    """Return the weights by place, as named in `discipline_kernels`."""
    own = order.priority
    numbers = [*astuple(own.weights), own.max_age, own.half_life, site.servers]
    return np.array(numbers, dtype=np.float64)


def _constant_priorities(jobs: Jobs, site: Site, order: Order, log: Log) -> Floats:
    """Return the constant part of each job's weighted priority."""
    from schedopt.policies.msfq.logs import discipline_kernels as kernels

    own, constant = order.priority, np.empty(len(jobs))
    if order.key == "weighted":
        qos = own.weights.qos * _level_of_each_job(jobs, own.qos_by, own.qos)
        kernels.constant(log, _weights(site, order), qos, constant)
    return constant


def _changing_order(jobs: Jobs, site: Site, order: Order, log: Log) -> ChangingOrder:
    """Return the state of an order that changes with time."""
    from schedopt.policies.msfq.logs import discipline_kernels as kernels

    n, own = len(jobs), order.priority
    user, known = accounts(jobs, own.by)
    shares = [own.shares.get(name or "", 1.0) for name in known]
    whole = sum(shares)
    count = len(known)
    return kernels.ChangingOrder(
        weighted=order.key == "weighted",
        fill=FILLS.index(order.fill),
        weights=_weights(site, order),
        constant=_constant_priorities(jobs, site, order, log),
        shares=np.array([whole / share for share in shares]),
        by_user=np.zeros(count),
        line=np.zeros(n, np.int32),
        keys=np.zeros(n),
        user=user.astype(np.int32),
        usage=np.zeros(count),
        rates=np.zeros(count),
        real=np.full(1, -np.inf),
        plan=_planned_end_buffers(jobs, site, order.fill),
        over=np.zeros(1 + len(site.amounts), np.int64),
    )


def _level_of_each_job(jobs: Jobs, by: str, levels: Mapping[str, float]) -> Floats:
    """Return the number of each job's name in a column, 0 for other names."""
    if not levels or (names := jobs.labels(by)) is None:
        return np.zeros(len(jobs))
    each = [levels.get(name, 0.0) for name in names.names]
    by_code: Floats = np.array([*each, 0.0])[names.codes]
    return by_code


def _reservations(jobs: Jobs, machine: ReplayState) -> Reservations:
    """Return the state of conservative backfilling."""
    from schedopt.policies.msfq.logs.conservative_kernels import Reservations

    n = len(jobs)
    most = 4 * n + 8  # two steps for each job, and as many for the past
    own = Reservations(
        at=np.array([0, 1, 0]),
        line=np.empty(n, np.int32),
        reserved=np.empty(n),
        times=np.empty(most),
        room=np.empty((most, len(machine.left)), np.int64),
    )
    own.times[0], own.room[0] = -np.inf, machine.left
    return own
