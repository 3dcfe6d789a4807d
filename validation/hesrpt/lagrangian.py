"""A bound over all orders, by rents of a server that fall over time.

Let every server cost m(t) at time t. A policy costs its jobs' flow times, and uses no more than all
servers: so it costs at least what the jobs would cost alone if each paid for its servers, less the
rent of all servers. A job of size x that completes at C pays at least lambda x less what it gains
at a price lambda of work, the integral until C of max_k (lambda s(k) - m k). For one price its cost
c C + lambda x - gains is concave over C where rents never rise, since gains then come ever faster:
between two times it is least at one of them. After the last cell servers are free: there it is
least at once, where a unit of time earns no more than it costs.

A team that may have no more than B servers adds what B of them cost beyond m(t): its jobs pay rents
of their own, none lower, and that is taken off too.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from schedopt.validation.hesrpt.certificates import OneJob, Rents
from schedopt.validation.hesrpt.earning import Bools, Servers
from schedopt.validation.hesrpt.intervals import Floats, Interval

MOST_CELLS, MOST_SPANS = 2_000, 2_000  # the most cells of time, and prices of a job


def least_cost(
    machine: Servers, sizes: Interval, costs: Interval, given: Rents, teams: Mapping[str, Bools]
) -> float:
    """Return a lower bound over all orders; `ValueError` if a step does not follow.

    ``sizes`` and ``costs`` are by job, ``teams`` masks of jobs, shape (M,). What teams of several
    jobs must have is left out of account: it only makes jobs cost more.
    """
    times = np.array(given.times, dtype=np.float64)
    rents = _expect_falling(times, np.array(given.rents, dtype=np.float64))
    if len(given.jobs) != len(machine.curves):
        raise ValueError("rents: not every job's cost is shown")
    ends = Interval.exactly(times)
    lengths = lengths_of(ends)
    bill = (Interval.exactly(rents) * lengths).total() * Interval.exactly(machine.servers)
    pays = [rents] * len(given.jobs)
    for name, written in given.teams.items():
        own = _expect_falling(times, np.array(written, dtype=np.float64))
        rows = [g for g, row in enumerate(machine.teams) if (row == teams.get(name, ~row)).all()]
        if not rows or (own < rents).any():
            raise ValueError(f"rents: {name} is no team with a cap, or pays less than others")
        above = (Interval.exactly(own) - Interval.exactly(rents)) * lengths
        bill = bill + above.total() * Interval.exactly(machine.team_most[rows[0]])
        for j in np.flatnonzero(teams[name]).tolist():
            pays[j] = own
    machine, total = _one_job_machine(machine), np.zeros(len(given.jobs))
    for j, job in enumerate(given.jobs):
        one = _Job(machine, j, _job_entry(sizes, j), _job_entry(costs, j))
        if not one.costs(job, ends, lengths, pays[j]):
            raise ValueError(f"rents: job {j + 1} may cost less than {job.cost}")
        total[j] = job.cost
    return float((Interval.exactly(total).total() - bill).low)


def _expect_falling(times: Floats, rents: Floats) -> Floats:
    """Return validated rents: positive and never rising."""
    if not (1 <= len(rents) <= MOST_CELLS and len(times) == len(rents) + 1):
        raise ValueError("rents: not one for each cell of time")
    sound = np.isfinite(times).all() and np.isfinite(rents).all() and times[0] == 0.0
    if not (sound and (np.diff(times) > 0).all() and (np.diff(rents) <= 0).all() and rents[-1] > 0):
        raise ValueError("rents: times rise from 0, and rents over 0 never do")
    return rents


def _one_job_machine(machine: Servers) -> Servers:
    """Return the machine for one job: no more than its team may have, no less if it is alone."""
    least, most = machine.least.copy(), machine.most.copy()
    for team, low, high in zip(machine.teams, machine.team_least, machine.team_most, strict=True):
        most[team] = np.minimum(most[team], high)
        if team.sum() == 1:
            least[team] = np.maximum(least[team], low)
    return replace(machine, least=least, most=np.maximum(most, least))


def lengths_of(times: Interval) -> Interval:
    """Return the lengths of cells."""
    return Interval(times.low[1:], times.high[1:]) - Interval(times.low[:-1], times.high[:-1])


def _job_entry(numbers: Interval, j: int) -> Interval:
    return Interval(numbers.low[j : j + 1], numbers.high[j : j + 1])


class _Job:
    """One job that pays for its servers."""

    def __init__(self, machine: Servers, j: int, size: Interval, cost: Interval) -> None:
        self.machine, self.j, self.size, self.cost = machine, j, size, cost

    def costs(self, job: OneJob, times: Interval, lengths: Interval, rents: Floats) -> bool:
        """Tell whether prices prove its cost, whenever it completes."""
        until, prices = np.array(job.until, dtype=np.int64), np.array(job.prices)
        spans = len(until)
        if not (1 <= spans <= MOST_SPANS and len(prices) == spans and until[-1] == len(rents)):
            return False
        fine = until[0] > 0 and (np.diff(until) > 0).all() and np.isfinite(job.cost)
        if not (fine and np.isfinite(prices).all() and (prices > 0).all() and job.beyond > 0):
            return False
        most = self.machine.most[self.j : self.j + 1]
        fastest = Interval.exactly(self.machine.curves[self.j].upper_lines(most)[0])
        if not (Interval.exactly(job.beyond) * fastest).high <= self.cost.low:
            return False
        every = np.append(prices, job.beyond)
        gains = self._gains(every, lengths, rents)
        begins = np.append(0, until)
        low = [self._least(every, gains, times, at) for at in (begins, np.append(until, until[-1]))]
        return bool(all((each >= job.cost).all() for each in low))

    def _gains(self, prices: Floats, lengths: Interval, rents: Floats) -> Floats:
        """Return the most it gains until the end of each cell, shape (S, E + 1)."""
        shape = (len(prices), len(rents))
        price = np.broadcast_to(prices[:, None], shape).ravel()
        rent = np.broadcast_to(rents, shape).ravel()
        rates = self.machine.gain_bounds(self.j, price, rent).reshape(shape)
        gains = Interval.exactly(rates) * lengths
        sums = np.cumsum(gains.high, axis=1)
        off = np.cumsum(np.abs(gains.high), axis=1) * (len(rents) * 2.0**-51)
        return np.hstack([np.zeros((len(prices), 1)), np.nextafter(sums + off, np.inf)])

    def _least(self, prices: Floats, gains: Floats, times: Interval, at: Floats) -> Floats:
        """Return the least cost of completing after some cells, by price, shape (S,)."""
        when = Interval(times.low[at], times.high[at])
        paid = self.cost * when + Interval.exactly(prices) * self.size
        return (paid - Interval.exactly(gains[np.arange(len(prices)), at])).low
