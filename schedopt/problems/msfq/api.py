"""msfq for users: `schedopt.msfq`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from formulations.msfq import LogBound, OptimalPolicy, Threshold, Window
from instances.msfq import (
    BoundedPareto,
    Bracketed,
    ClassTime,
    Deterministic,
    Empirical,
    Exponential,
    Hyperexponential,
    Instance,
    JobClass,
    Lognormal,
    Measures,
    OptimalTable,
    Preempted,
    Replayed,
    Simulated,
    Started,
    Thresholded,
    Windowed,
)
from instances.msfq.logs import Jobs, Labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BoundedPareto",
    "Bracketed",
    "ClassTime",
    "Deterministic",
    "Empirical",
    "Exponential",
    "Hyperexponential",
    "Instance",
    "JobClass",
    "Jobs",
    "Labels",
    "LogBound",
    "Lognormal",
    "Measures",
    "OptimalPolicy",
    "OptimalTable",
    "Preempted",
    "Replayed",
    "Simulated",
    "Started",
    "Threshold",
    "Thresholded",
    "Window",
    "Windowed",
    "sample_path",
]


R = TypeVar("R", bound=Callable[..., object])


def admission_rule(name: str, *, source: str, summary: str) -> Callable[[R], R]:
    """Register an admission rule of your own as a policy, which `evaluate` and `bench` then run.

    Parameters
    ----------
    name : str
        The policy's name.
    source : str
        Where it is defined.
    summary : str
        What it does, in a line.

    Returns
    -------
    callable
        Takes the rule: a function that is given the state and returns the next job to start, None
        for none.
    """
    from policies.msfq import admission_rule as register

    return register(name, source=source, summary=summary)


def sample_path(
    queue: Instance,
    policy: str,
    grid: Sequence[float] | NDArray[np.float64],
    *,
    arrivals: int = 60_000,
    seed: int = 0,
    **options: float | str,
) -> NDArray[np.int64]:
    """Return the numbers of jobs in the system at given times of a simulation.

    Parameters
    ----------
    queue : Instance
    policy : str
        An admission rule, such as ``msfq``.
    grid : sequence of float
        Times from the start, ascending, shape (T,).
    arrivals : int
        Jobs that are played.
    seed : int
        The same seed, the same jobs.
    **options
        The rule's own, such as ``threshold``.

    Returns
    -------
    ndarray
        Shape (T, C): jobs of each class, in the instance's order.

    Raises
    ------
    InputError
        If there is no such rule, or an option is not right.
    """
    from policies.msfq.registration import plan
    from policies.msfq.simulation import play

    rule = plan(queue, policy, **options)
    return play(queue, rule, arrivals=arrivals, seed=seed, grid=grid).samples
