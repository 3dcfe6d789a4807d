"""Solutions for a queue or a log: response times by class, thresholds, replays, bounds."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from schedopt.instances.declarations import Integer, Record
from schedopt.instances.errors import InputError, quote

if TYPE_CHECKING:
    from schedopt.instances.msfq.logs import Floats


MOST_STARTS = 10**8  # starts that are unpacked


class ClassTime(Record, kw_only=True):
    """The response times of one class.

    Attributes
    ----------
    need : int
        The class.
    mean_response_time : float
        E[T] of its jobs.
    confidence : float, optional
        Half-width of the 95% interval, if simulated.
    percentiles : dict of str to float, optional
        Such as ``{"50": 1.2, "99": 17.0}``, with an error of at most 1%, if simulated.
    jobs : int, optional
        The number of jobs that were counted.
    mean_number : float, optional
        The mean number of jobs in the system.
    arrival_rate : float, optional
        The arrival rate observed in the simulation.
    """

    need: Integer
    mean_response_time: float | None
    confidence: float | UnsetType | None = UNSET
    percentiles: dict[str, float] | UnsetType = UNSET
    jobs: Integer | UnsetType = UNSET
    mean_number: float | UnsetType = UNSET
    arrival_rate: float | UnsetType = UNSET


class Answer(Record, kw_only=True):
    """The fields of every solution for classes.

    Attributes
    ----------
    mean_response_time : float
        E[T] over all jobs.
    weighted_response_time : float
        E[T^w]: the weight of each class is its part of the load.
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
        The best l that satisfies all side constraints.
    curve : tuple of float or None
        The objective at each l from 0; null where it overflows.
    method, variant : str
        The method of evaluation, and the variant of the drain.
    assumption_ok : bool
        Whether the assumption of an approximation (no phase is skipped) holds at the threshold;
        true for ``exact``, which has none.
    """

    threshold: Integer
    curve: tuple[float | None, ...]
    method: str
    variant: str = "literal"
    assumption_ok: bool


class OptimalTable(Answer, kw_only=True):
    """The optimal nonpreemptive policy of a one-or-all system, as tables of decisions.

    Attributes
    ----------
    small_most, large_most : int
        The largest numbers of waiting jobs in the tables. Beyond them the decision is that at the
        edge.
    at_empty : tuple of str
        The decisions on empty servers: a row for each number of waiting large jobs, a letter for
        each number of waiting small jobs. ``L`` starts a large job, ``S`` starts small jobs, ``.``
        nothing.
    admit : tuple of tuple of str
        The decisions with c = 1..k-1 small jobs in service: ``S`` starts one more, ``-`` does not.
    span, truncation : float
        The two parts of the gap, in the unit of the objective: from the iteration, and from the
        truncation.
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
        The number of arrivals, with the warm-up.
    confidence : float or None
        Half-width of the 95% interval of the objective, by batch means; null where the run is too
        short for one.
    utilization : float
        The mean fraction of busy servers.
    threshold : int, optional
        Of a policy that has one.
    phases : dict of str to float, optional
        Mean lengths of MSFQ's phases.
    note : str, optional
        Remarks on the run.
    """

    arrivals: Integer
    confidence: float | None
    utilization: float
    threshold: Integer | UnsetType = UNSET
    phases: dict[str, float] | UnsetType = UNSET
    note: str | UnsetType = UNSET


def pack_starts(starts: Floats) -> bytes:
    """Return starts as a document holds them: little-endian, bytes transposed, deflated."""
    import numpy as np

    plain = np.ascontiguousarray(starts, dtype="<f8").view(np.uint8).reshape(-1, 8)
    return zlib.compress(plain.T.tobytes(), 1)


def unpack_starts(schedule: bytes, jobs: int) -> Floats:
    """Return the starts of a document, shape (jobs,); `InputError` if there are not as many."""
    import numpy as np

    expected = f"the starts of {jobs} jobs, packed"
    if not 0 <= jobs <= MOST_STARTS:
        raise InputError(
            f"0 to {MOST_STARTS:,} starts, packed", found=quote(jobs), place="schedule"
        )
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
    """A solution that holds the start of each job, packed."""

    __slots__ = ()
    if TYPE_CHECKING:
        jobs: int
        schedule: bytes

    @property
    def starts(self) -> Floats:
        """The start of each job, shape (jobs,)."""
        return unpack_starts(self.schedule, self.jobs)


class Measures(Record, kw_only=True):
    """The measures of a user, a queue, or the jobs of one need.

    Attributes
    ----------
    jobs : int
        The number of jobs.
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
    """The fields of every solution for a log.

    Attributes
    ----------
    jobs : int
        The number of jobs.
    mean_response_time : float
        The mean of end minus submit over all jobs.
    weighted_response_time : float
        The same, with weights servers times run time.
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
        The work divided by servers times the time from the first submit to the last end.
    loss_of_capacity : float
        The fraction of the servers that was idle though waiting jobs could have used it, were they
        divisible: min(idle, waiting need), over time.
    fairness : float or None
        Jain's index of the users' mean bounded slowdowns, 1 where all are equal; null where the log
        has no users.
    makespan : float
        From the first submit to the last end.
    confidence : float or None
        Half-width of a 95% interval by batch means, for the mean of the process that produced the
        log; the objective itself is exact. Null where there are too few jobs.
    estimates : str
        The run times that the policy expected: ``given``, ``exact``, or ``none``.
    by : dict
        ``user``, ``group``, ``queue``, ``partition`` and ``need``: the measures of each name.
    schedule : bytes
        The start of each job: see `pack_starts`.
    note : str, optional
        Remarks on the replay.
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
    """The best of several policies on a log, and lower bounds on every schedule.

    Attributes
    ----------
    policy : str
        The best policy.
    policies : dict of str to float
        The objective of each policy.
    bounds : dict of str to float
        Lower bounds on the objective by name.
    schedule : bytes
        The start of each job under the best policy: see `pack_starts`.
    """

    policy: str
    policies: dict[str, float]
    bounds: dict[str, float]
    schedule: bytes
