"""msfq for users: `schedopt.msfq`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schedopt.formulations.msfq import LogBound, OptimalPolicy, Threshold
from schedopt.instances.msfq import (
    Bracketed,
    ClassTime,
    Empirical,
    Exponential,
    Instance,
    JobClass,
    Measures,
    OptimalTable,
    Partition,
    Replayed,
    Simulated,
    Thresholded,
)
from schedopt.instances.msfq.logs import Jobs, Labels, Needs
from schedopt.policies.msfq import admission_rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Bracketed",
    "ClassTime",
    "Empirical",
    "Exponential",
    "Instance",
    "JobClass",
    "Jobs",
    "Labels",
    "LogBound",
    "Measures",
    "Needs",
    "OptimalPolicy",
    "OptimalTable",
    "Partition",
    "Replayed",
    "Simulated",
    "Threshold",
    "Thresholded",
    "admission_rule",
    "sample_path",
]


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
    from schedopt.policies.msfq.registration import plan
    from schedopt.policies.msfq.simulation import simulate

    rule = plan(queue, policy, **options)
    return simulate(queue, rule, arrivals=arrivals, seed=seed, grid=grid).samples
