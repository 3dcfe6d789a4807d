"""Answers for a queue or a log: response times by class, thresholds, replays, bounds."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from schedopt.instances.declarations import Integer, Record
from schedopt.instances.errors import InputError, quote

if TYPE_CHECKING:
    from schedopt.instances.msfq.logs import Floats


class ClassTime(Record, kw_only=True):
    """The response time of one class.

    Attributes
    ----------
    need : int
        Which class.
    mean_response_time : float
        E[T] of its jobs.
    confidence : float, optional
        Half-width of the 95% interval, where it was simulated.
    percentiles : dict of str to float, optional
        Such as ``{"50": 1.2, "99": 17.0}``, to within 1%, where each job's time was simulated.
    jobs : int, optional
        How many jobs were counted.
    mean_number : float, optional
        The mean number in the system, integrated over time.
    arrival_rate : float, optional
        As it came out in the simulation.
    """

    need: Integer
    mean_response_time: float | None
    confidence: float | UnsetType | None = UNSET
    percentiles: dict[str, float] | UnsetType = UNSET
    jobs: Integer | UnsetType = UNSET
    mean_number: float | UnsetType = UNSET
    arrival_rate: float | UnsetType = UNSET


class Answer(Record, kw_only=True):
    """The fields of every answer.

    Attributes
    ----------
    mean_response_time : float
        E[T], over all jobs.
    weighted_response_time : float
        E[T^w]: each class weighs as much as its share of the load.
    classes : tuple of ClassTime
        By class, in the instance's order.
    """

    mean_response_time: float
    weighted_response_time: float
    classes: tuple[ClassTime, ...]


class Thresholded(Answer, kw_only=True):
    """The best threshold of MSFQ, and the whole curve.

    Attributes
    ----------
    threshold : int
        The best l that keeps all side constraints.
    curve : tuple of float or None
        The objective at each l from 0; null where it is infinite in floating point.
    method, variant : str
        How it was evaluated, and which reading of the drain.
    assumption_ok : bool
        Whether the approximation's assumption (no phase is skipped) holds at the threshold; true
        for ``exact``, which needs none.
    """

    threshold: Integer
    curve: tuple[float | None, ...]
    method: str
    variant: str
    assumption_ok: bool


class OptimalTable(Answer, kw_only=True):
    """The optimal nonpreemptive policy of a one-or-all system, as tables of what to do.

    Attributes
    ----------
    small_most, large_most : int
        The truncation: how many waiting jobs of each class the chain knows.
    at_empty : tuple of str
        What to do with empty servers: one row for each number of waiting large jobs, one letter for
        each number of waiting small jobs: ``L`` start a large job, ``S`` start small ones, ``.``
        nothing waits.
    admit : tuple of tuple of str
        With c = 1..k-1 small jobs in service: ``S`` start one more, ``-`` keep it waiting.
    span, truncation : float
        The two parts of the gap, in the unit of the objective: what the iteration left open, and
        what the truncation may have cost.
    """

    small_most: Integer
    large_most: Integer
    at_empty: tuple[str, ...]
    admit: tuple[tuple[str, ...], ...]
    span: float
    truncation: float


class Simulated(Answer, kw_only=True):
    """The measures of a simulated policy.

    Attributes
    ----------
    arrivals : int
        How many jobs arrived, the warm-up among them.
    confidence : float or None
        Half-width of the objective's 95% interval, by batch means; null where the run is too short
        for one.
    utilization : float
        The mean share of the servers that was busy.
    threshold : int, optional
        Of a policy that has one.
    phases : dict of str to float, optional
        Mean durations, where asked for.
    note : str, optional
        What is to be said of the run beside its numbers.
    """

    arrivals: Integer
    confidence: float | None
    utilization: float
    threshold: Integer | UnsetType = UNSET
    phases: dict[str, float] | UnsetType = UNSET
    note: str | UnsetType = UNSET


MOST = 10**8  # the most times that are unpacked


def pack_starts(starts: Floats) -> bytes:
    """Return starts as a document holds them: little-endian, the like bytes together, deflated."""
    import numpy as np

    plain = np.ascontiguousarray(starts, dtype="<f8").view(np.uint8).reshape(-1, 8)
    return zlib.compress(plain.T.tobytes(), 1)


def unpack_starts(schedule: bytes, jobs: int) -> Floats:
    """Unpack starts; `InputError` unless there are exactly so many."""
    import numpy as np

    expected = f"the starts of {jobs} jobs, packed"
    if not 0 <= jobs <= MOST:
        raise InputError(f"0 to {MOST:,} times, packed", found=quote(jobs), place="schedule")
    try:
        engine = zlib.decompressobj()
        data = engine.decompress(schedule, 8 * jobs + 1)
    except zlib.error as error:
        raise InputError(expected, found=str(error), place="schedule") from None
    if len(data) != 8 * jobs:
        raise InputError(expected, found=f"{len(data)} bytes", place="schedule")
    plain = np.frombuffer(data, np.uint8).reshape(8, -1).T
    return np.ascontiguousarray(plain).view("<f8").reshape(-1).astype(np.float64)


class _Packed:
    """An answer that holds when each job started, packed."""

    __slots__ = ()
    if TYPE_CHECKING:
        jobs: int
        schedule: bytes

    @property
    def starts(self) -> Floats:
        """When each job started, shape (jobs,)."""
        return unpack_starts(self.schedule, self.jobs)


class Measures(Record, kw_only=True):
    """The measures of a user, a queue, or the jobs of one need.

    Attributes
    ----------
    jobs : int
        How many they are.
    mean_response_time, mean_wait : float
        From submit to end, and from submit to start, in the log's unit.
    mean_bounded_slowdown : float
        The mean of max(1, response / max(run, τ)) (Feitelson and Rudolph, JSSPP 1998).
    """

    jobs: Integer
    mean_response_time: float
    mean_wait: float
    mean_bounded_slowdown: float


class LogAnswer(Record, kw_only=True):
    """The fields of every answer for a log.

    Attributes
    ----------
    jobs : int
        How many there are.
    mean_response_time : float
        The mean of end minus submit over all jobs.
    weighted_response_time : float
        The same, each job weighing its servers times its run time.
    """

    jobs: Integer
    mean_response_time: float
    weighted_response_time: float


class Replayed(_Packed, LogAnswer, kw_only=True):
    """A log replayed under a policy.

    Attributes
    ----------
    mean_wait : float
        The mean of start minus submit.
    mean_bounded_slowdown : float
        The mean of max(1, response / max(run, τ)), τ = ``slowdown_bound``.
    slowdown_bound : float
        τ, in the log's unit.
    utilization : float
        Work done over servers times the time from the first submit to the last end.
    loss_of_capacity : float
        The share of the servers that was idle though waiting jobs could have filled it, were they
        divisible: min(idle, waiting need), over time.
    fairness : float or None
        Jain's index of the users' mean bounded slowdowns, 1 where all are alike; null where the log
        does not say whose the jobs are.
    makespan : float
        From the first submit to the last end.
    confidence : float or None
        Half-width of a 95% interval by batch means, for the mean of the process that the log is a
        part of: the objective is exact. Null where jobs are too few.
    estimates : str
        What the policy took for each job's run time: ``given``, ``exact``, or ``none``.
    by : dict
        ``user``, ``group``, ``queue`` and ``need``: for each name, what its jobs got.
    schedule : bytes
        When each job started: see `pack_starts`.
    note : str, optional
        What is to be said beside the numbers.
    """

    mean_wait: float
    mean_bounded_slowdown: float
    slowdown_bound: float
    utilization: float
    loss_of_capacity: float
    fairness: float | None
    makespan: float
    confidence: float | None
    estimates: str
    by: dict[str, dict[str, Measures]]
    schedule: bytes
    note: str | UnsetType = UNSET


class Bracketed(_Packed, LogAnswer, kw_only=True):
    """The best policy of several on a log, and how much better any schedule could have been.

    Attributes
    ----------
    policy : str
        Which policy was best.
    policies : dict of str to float
        The objective of each that was tried.
    bounds : dict of str to float
        Lower bounds on the objective by name.
    schedule : bytes
        When each job started under the best: see `pack_starts`.
    """

    policy: str
    policies: dict[str, float]
    bounds: dict[str, float]
    schedule: bytes
