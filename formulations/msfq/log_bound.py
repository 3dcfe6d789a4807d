"""LogBound: a lower bound on the mean response time of every schedule of a log.

Times are integers: exact decimals of the file if they fit 64 bits, otherwise rounded down.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log2
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.optimal import WithoutConstraints
from schedopt.formulations.protocol import Settings
from schedopt.instances.decimals import as_written, scale_of
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.records import Part
from schedopt.instances.options import Option, check_options, is_count

Ticks64 = NDArray[np.int64]


@dataclass(frozen=True)
class TickLimits:
    """Most bits of the ticks of a whole log, and of weights times ticks; prices need the rest."""

    ticks: int = 44
    weighted: int = 50


@dataclass(frozen=True, eq=False)
class Ticks:
    """The jobs of a log in integer ticks from the first release, arrays of shape (jobs,).

    Attributes
    ----------
    servers : int
        The servers of the machine.
    submit, need, run, weight : ndarray of int64
        The release of each job, the servers that it needs, its run time, and its weight: 1, or need
        times run time.
    scale : Fraction
        Ticks in a unit of time.
    exact : bool
        Whether times are exact. Otherwise they are rounded down, which excludes no schedule, and
        makes a response at most one tick shorter.
    total : Fraction
        The exact sum of the weights in ticks, by which `mean_response_bound` divides.
    """

    servers: int
    submit: Ticks64
    need: Ticks64
    run: Ticks64
    weight: Ticks64
    scale: Fraction
    exact: bool
    total: Fraction

    @classmethod
    def of(cls, queue: Instance, limits: TickLimits = TickLimits()) -> Ticks:
        """Return the jobs of a log in ticks."""
        jobs = queue.jobs
        times = np.concatenate([jobs.submit, jobs.run])
        span = float(jobs.submit[-1] - jobs.submit[0]) + float(jobs.run.max())
        weighted = queue.objective == "weighted"
        finest = min(limits.ticks - 1 - log2(span), 900.0)  # a scale that a float holds
        if weighted:
            most = log2(float((jobs.need * jobs.run).max())) + log2(span)
            finest = min(finest, (limits.weighted - 1 - most) / 2)
        plain = scale_of(times)
        exact = bool(plain) and log2(plain) < finest
        scale = Fraction(plain) if exact else Fraction(2) ** floor(finest)
        if exact:
            submit, run = (np.rint(of * plain).astype(np.int64) for of in (jobs.submit, jobs.run))
        else:
            submit, run = (
                np.array([floor(as_written(time) * scale) for time in of.tolist()], np.int64)
                for of in (jobs.submit, jobs.run)
            )
        need = jobs.need.astype(np.int64)
        total = Fraction(len(jobs))
        if weighted:
            works = zip(need.tolist(), jobs.run.tolist(), strict=True)
            total = sum((n * as_written(p) * scale for n, p in works), Fraction(0))
        return cls(
            servers=queue.servers,
            submit=submit - submit[0],
            need=need,
            run=run,
            weight=need * run if weighted else np.ones_like(need),
            scale=scale,
            exact=exact,
            total=total,
        )

    def mean_response_bound(self, total: Fraction | int) -> Fraction:
        """Return the lower bound on the mean response time that a weighted sum in ticks implies."""
        lost = 0 if self.exact else int(self.weight.sum())
        return (total - lost) / (self.total * self.scale)


@dataclass
class Prices:
    """The price of a server over time: the native model of `LogBound`, the dual variables.

    Attributes
    ----------
    grid : ndarray of int64, shape (cells + 1,)
        The ends of cells of time, ascending, in ticks from the first release.
    prices : ndarray of int64, shape (cells,)
        The price of a server for one tick of each cell.
    unit : int
        The cost of one tick of waiting of a job of weight 1, in the unit of prices.
    """

    grid: Ticks64
    prices: Ticks64
    unit: int = 1


class LogBound(WithoutConstraints):
    """Bound the mean response time of a log below, over all of its nonpreemptive schedules.

    Parameters
    ----------
    queue : Instance
        A log without side constraints, which could only increase the cost of schedules.
    rounds : int
        Most rounds in which prices are improved; fewer if a round takes long.
    cells : int
        Most cells of time; the price of a server is constant in each cell.

    Attributes
    ----------
    model : Prices
        The best prices so far.
    parts : tuple of PartitionTicks
        The partitions, or the whole machine; the solver stores the best prices there.
    several : bool
        Whether there are partitions, or more resources than servers.
    delay : Fraction
        The mean time from submit to release, weighted as the objective.

    Raises
    ------
    InputError
        If the instance is not a log.

    Notes
    -----
    For any prices π >= 0 of servers over time, the Lagrangian relaxation of the capacity bounds the
    total weighted response time below::

        maximize over π >= 0
            sum_j min_{S >= r_j} [w_j (S + p_j - r_j) + q_j ∫_S^{S + p_j} π] - N ∫ π

    with the release r_j, run time p_j, need q_j and weight w_j of job j on N servers: each job
    minimizes its response and its payment, and servers earn at most N ∫ π. The best prices are the
    dual values of the time-indexed linear program. Delays from submits to releases are the same in
    every schedule, and are added to the bound. Each partition is bounded as a machine of its own,
    and each of several resources as if it were the only one; the best bound counts.

    Source: Dyer and Wolsey, Discrete Applied Mathematics 26, 1990 (the time-indexed relaxation);
    Fisher, Management Science 27, 1981 (Lagrangian bounds).
    """

    refusing: ClassVar[str] = "on a log"
    name: ClassVar[str] = "bound"
    engine: ClassVar[str] = "server-prices"
    known_options: ClassVar[Mapping[str, Option]] = {
        "rounds": Option(400, "a whole number of at least 1", is_count, asks=False),
        "cells": Option(50_000, "a whole number of at least 1", is_count, asks=False),
    }

    def __init__(self, queue: Instance, *, rounds: int = 400, cells: int = 50_000) -> None:
        began = time.perf_counter()
        options = {"rounds": rounds, "cells": cells}
        self.options: Settings = check_options(options, self.known_options, "bound")
        if queue.log is None:
            raise InputError("an instance of a log", found="an instance of classes", place="log")
        self.instance = queue
        self.several = bool(queue.resources or queue.partitions)
        released, rows = queue.as_released()
        self.parts = tuple(
            PartitionTicks.of(part._replace(rows=rows[part.rows])) for part in released.parts()
        )
        self.delay = mean_delay(queue)
        self.add(*queue.constraints)
        self.seconds = time.perf_counter() - began

    @property
    def model(self) -> Prices:
        """The best prices so far of the first partition; 0 before a solve."""
        return self.parts[0].prices

    def certificate(self) -> dict[str, Any]:
        """Return the prices as a certificate."""
        if not self.several:
            return {"kind": "server-prices", **self.parts[0].price_document()}
        stated = []
        for part in self.parts:
            one = part.price_document()
            one["prices"] = {part.priced: one["prices"]}
            stated.append({"partition": part.name, **one})
        return {"kind": "resource-prices", "parts": stated}


def mean_delay(queue: Instance) -> Fraction:
    """Return the mean time from submit to release, weighted as the objective of a log."""
    jobs = queue.jobs
    if jobs.release is None:
        return Fraction(0)
    columns = (jobs.submit, jobs.release, jobs.need, jobs.run)
    total = weight = Fraction(0)
    for submit, release, need, run in zip(*(column.tolist() for column in columns), strict=True):
        own = need * as_written(run) if queue.objective == "weighted" else 1
        total += own * (as_written(release) - as_written(submit))
        weight += own
    return total / weight


@dataclass
class PartitionTicks:
    """A partition of the machine of a log, or the whole machine.

    Attributes
    ----------
    name : str
        The partition.
    rows : ndarray of int
        Its jobs, by position.
    ticks : dict of str to Ticks
        Its jobs with their need of each resource that can be short, servers first.
    weight : Fraction
        The total weight of its jobs.
    prices, priced : Prices, str
        The prices that prove the best bound, and the resource to which they apply.
    """

    name: str
    rows: NDArray[np.intp]
    ticks: dict[str, Ticks]
    weight: Fraction
    prices: Prices
    priced: str = "servers"

    @classmethod
    def of(cls, part: Part) -> Self:
        """Return a part of a machine with prices of 0."""
        ticks = Ticks.of(part.queue)
        each, needs = {"servers": ticks}, part.queue.jobs.needs
        if needs is not None:
            for name, column, most in zip(
                needs.names, needs.amounts.T, part.queue.amounts, strict=True
            ):
                if int(column.sum()) > most:
                    shared = int(np.gcd.reduce(column))
                    each[name] = replace(ticks, need=column // shared, servers=most // shared)
        weighted = part.queue.objective == "weighted"
        weight = ticks.total / ticks.scale if weighted else ticks.total
        end = max(int(ticks.submit[-1] + ticks.run.sum()), 1)
        free = Prices(np.array([0, end]), np.zeros(1, np.int64))
        return cls(part.name, part.rows, each, weight, free)

    def price_document(self) -> dict[str, Any]:
        """Return the prices as in a certificate, with equal neighbours merged."""
        scale, prices, grid = self.ticks[self.priced].scale, self.prices.prices, self.prices.grid
        kept = np.flatnonzero(np.diff(prices, prepend=-1))
        return {
            "scale": [scale.numerator, scale.denominator],
            "unit": self.prices.unit,
            "grid": [*grid[kept].tolist(), int(grid[-1])],
            "prices": prices[kept].tolist(),
        }
