"""Answers for a queue: response times by class, the threshold curve, a policy's table."""

from msgspec import UNSET, UnsetType

from schedopt.instances.declarations import Record


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

    need: int
    mean_response_time: float | None
    confidence: float | UnsetType | None = UNSET
    percentiles: dict[str, float] | UnsetType = UNSET
    jobs: int | UnsetType = UNSET
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

    threshold: int
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

    small_most: int
    large_most: int
    at_empty: tuple[str, ...]
    admit: tuple[tuple[str, ...], ...]
    span: float
    truncation: float


class Expected(Answer, kw_only=True):
    """The long-run measures of a policy, solved rather than simulated.

    Attributes
    ----------
    method : str
        ``exact``.
    utilization : float
        The mean share of the servers that is busy.
    limit : float
        The arrival rate from which on the policy is unstable, at the same mix of classes.
    """

    method: str
    utilization: float
    limit: float


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
    replications : int, optional
        Independent runs that were put together, where there is more than one.
    note : str, optional
        What is to be said of the run beside its numbers.
    """

    arrivals: int
    confidence: float | None
    utilization: float
    threshold: int | UnsetType = UNSET
    phases: dict[str, float] | UnsetType = UNSET
    replications: int | UnsetType = UNSET
    note: str | UnsetType = UNSET
