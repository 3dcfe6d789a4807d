"""The render farm of the dssp reproductions: synthetic, calibrated on the paper's facts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import msgspec
import numpy as np

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.generators import DEADLINE, PROCESSORS, render_season
from schedopt.instances.dssp.rewards import REWARDS
from schedopt.instances.dssp.tasks import Floats, Ints
from schedopt.policies.dssp import dispatchers
from schedopt.policies.dssp.dispatch import Played
from schedopt.policies.registry import registered

HOUR = 3600.0
SIX = ("random", "first", "priority", "stcpu", "lcpf", "cpa")
PAPER = "Anderson et al., SPAA 2005"
SYNTHETIC = (
    "Synthetic nights, calibrated on the facts that the paper states of its trace, which is not "
    "public: agreement shows that the claims follow from those facts, not that the trace had them."
)


def nights_over(hours: float, wanted: int) -> list[Instance]:
    """Return nights whose jobs ask for at least so many CPU-hours, from as many seasons as needed.

    Parameters
    ----------
    hours : float
        Total demand in CPU-hours.
    wanted : int
        How many nights.
    """
    found: list[Instance] = []
    for night in _all_nights():
        if night.demands.sum() >= hours * HOUR:
            found.append(night)
        if len(found) == wanted:
            break
    return found


def busiest(wanted: int) -> list[Instance]:
    """Return the nights of one season with the greatest total demand."""
    return sorted(render_season(1), key=lambda night: -night.demands.sum())[:wanted]


def _all_nights() -> Iterator[Instance]:
    for seed in count(1):
        yield from render_season(seed)


def rewarded(night: Instance, reward: str) -> Instance:
    """Return a night under another reward function (section 5.1), by what happens."""
    demands = night.tasks.demands.tolist()
    jobs = tuple(
        msgspec.structs.replace(job, reward=REWARDS[reward](job.priority, demand))
        for job, demand in zip(night.jobs, demands, strict=True)
    )
    return msgspec.structs.replace(night, jobs=jobs)


def predicted(night: Instance, sigma: float, seed: int) -> Instance:
    """Return a night with predictions: T_1 and T_∞ times independent lognormal errors.

    Parameters
    ----------
    night : Instance
        With stages.
    sigma : float
        The standard deviation of the logarithm of each error.
    seed : int
        Of the errors.
    """
    draw = np.random.Generator(np.random.PCG64(seed))
    errors = np.exp(sigma * draw.standard_normal((len(night.jobs), 2)))
    jobs = tuple(
        msgspec.structs.replace(job, demand=float(d * e), critical_path=float(c * f))
        for job, d, c, (e, f) in zip(
            night.jobs, night.demands, night.critical_paths, errors, strict=True
        )
    )
    return msgspec.structs.replace(night, jobs=jobs)


def chosen(night: Instance, selector: str, fill: float) -> Ints:
    """Return the positions of the jobs that a selector takes."""
    selected = registered("dssp")[selector].run(night, fill=fill).selected
    return dispatchers.positions(night, selected)


def earned(night: Instance, dispatcher: str, jobs: Ints, seed: int = 0) -> float:
    """Return the reward of the jobs that a dispatcher completes by the deadline."""
    completion = dispatchers.simulated(night, dispatcher, jobs, seed).completion[jobs]
    return float(night.rewards[jobs][completion <= night.deadline].sum())


def releases(night: Instance, played: Played) -> Floats:
    """Return when each of the P processors ends its last task; 0 for one that never works."""
    run = played.processors >= 0
    last = np.zeros(night.processors)
    np.maximum.at(last, played.processors[run], played.starts[run] + night.tasks.lengths[run])
    return last


__all__ = [
    "DEADLINE",
    "HOUR",
    "PAPER",
    "PROCESSORS",
    "SIX",
    "SYNTHETIC",
    "busiest",
    "chosen",
    "earned",
    "nights_over",
    "predicted",
    "releases",
    "rewarded",
]
