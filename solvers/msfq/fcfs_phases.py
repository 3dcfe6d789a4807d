"""FCFS as a process of phases: who is in service, and whose job blocks the head of the queue.

The classes of the jobs behind the head have had no influence on anything yet: they are drawn, with
the odds of the arrivals, as the jobs come to the head. So what is in service and the class of the
job at the head, together with how many wait behind it, make a Markov chain. Those without the last
number are few: with two classes, of needs a and b, some k/a + k/b.

After a completion the head may start, and then the next job, and so on. In between the system is in
a passing phase, which takes no time: its head's class is about to be drawn.

Source: Grosof, Harchol-Balter and Scheller-Wolf, Stability for two-class multiserver-job systems,
2020, where the phases of the saturated system, in which jobs wait at all times, are counted so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance

Floats = NDArray[np.float64]
Service = tuple[int, ...]
"""How many jobs of each class are in service."""


class TooManyPhasesError(Exception):
    """There are more phases than were asked for."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most:,} phases")


class Phases(NamedTuple):
    """What FCFS may be in, and how it moves.

    Attributes
    ----------
    shares : ndarray, shape (C,)
        The part of the arrivals that is of each class.
    free : list of tuple of int
        What may be in service where nobody waits, G of them.
    blocked : list of (tuple of int, int)
        What is in service and the class of the head, M of them.
    passing : list of tuple of int
        What is in service as the next head is about to be drawn, P of them.
    stay : ndarray, shape (M, M)
        Rates between blocked phases, all that leaves one on the diagonal, as a negative number.
    start : ndarray, shape (M, P)
        Rates at which the head starts.
    drawn, passed : ndarray, shape (P, M) and (P, P)
        Odds that the next head is blocked, and that it starts.
    """

    shares: Floats
    free: list[Service]
    blocked: list[tuple[Service, int]]
    passing: list[Service]
    stay: Floats
    start: Floats
    drawn: Floats
    passed: Floats


def phases(queue: Instance, most: int) -> Phases:
    """Return the phases of FCFS.

    Parameters
    ----------
    queue : Instance
        Of exponential sizes.
    most : int
        How many phases there may be: of those in which nobody waits, and of the others.

    Raises
    ------
    TooManyPhasesError
        If there are more.
    """
    needs = [job.need for job in queue.classes]
    rates = [job.service_rate for job in queue.classes]
    arrivals = np.array([job.arrival_rate for job in queue.classes])
    shares = arrivals / arrivals.sum()
    left = _services(queue.servers, needs, most)
    free = list(left)
    blocked = [(now, h) for now in free for h, need in enumerate(needs) if need > left[now]]
    if len(blocked) > most:
        raise TooManyPhasesError(most)
    where = {phase: i for i, phase in enumerate(blocked)}
    passing: dict[Service, int] = {}  # grows as they are met, first by what starts
    stay, start = np.zeros((len(blocked), len(blocked))), _Entries()
    for i, (now, head) in enumerate(blocked):
        for c, count in enumerate(now):
            if not count:
                continue
            after, rate = _changed(now, c, -1), count * rates[c]
            stay[i, i] -= rate
            if needs[head] > left[after]:
                stay[i, where[after, head]] += rate
            else:
                begun = _changed(after, head, 1)
                start.append((i, passing.setdefault(begun, len(passing)), rate))
    drawn, passed, met = _Entries(), _Entries(), list(passing)
    for p, now in enumerate(met):
        for c, need in enumerate(needs):
            if need > left[now]:
                drawn.append((p, where[now, c], float(shares[c])))
                continue
            begun = _changed(now, c, 1)
            if begun not in passing:
                passing[begun] = len(passing)
                met.append(begun)
            passed.append((p, passing[begun], float(shares[c])))
    if len(blocked) + len(met) > most:
        raise TooManyPhasesError(most)
    shape = len(blocked), len(met)
    return Phases(
        shares, free, blocked, met, stay,
        start.matrix(*shape), drawn.matrix(*reversed(shape)), passed.matrix(shape[1], shape[1]),
    )  # fmt: skip


class _Entries(list[tuple[int, int, float]]):
    """Rows, columns and values of a matrix; those of one place are added up."""

    def matrix(self, rows: int, columns: int) -> Floats:
        found = np.zeros((rows, columns))
        for i, j, value in self:
            found[i, j] += value
        return found


def _services(servers: int, needs: list[int], most: int) -> dict[Service, int]:
    """Return all that may be in service, with how many servers it leaves."""
    found: dict[Service, int] = {(): servers}
    for need in needs:
        longer: dict[Service, int] = {}
        for now, left in found.items():
            for count in range(left // need + 1):
                longer[(*now, count)] = left - count * need
                if len(longer) > most:
                    raise TooManyPhasesError(most)
        found = longer
    return found


def _changed(now: Service, c: int, by: int) -> Service:
    return (*now[:c], now[c] + by, *now[c + 1 :])
