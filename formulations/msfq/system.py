"""A one-or-all system as five numbers, and what every evaluator returns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance

Floats = NDArray[np.float64]


class System(NamedTuple):
    """A one-or-all system: k servers, small jobs that need one, large jobs that need all.

    ``l1`` and ``lk`` are the arrival rates of small and large jobs, ``m1`` and ``mk`` their service
    rates.
    """

    k: int
    l1: float
    lk: float
    m1: float
    mk: float

    @property
    def load(self) -> float:
        """λ_1/(k·μ_1) + λ_k/μ_k: stable below 1 for every threshold (Theorem 1)."""
        return self.l1 / (self.k * self.m1) + self.lk / self.mk

    @property
    def rate(self) -> float:
        """λ, both classes together."""
        return self.l1 + self.lk

    @property
    def rates(self) -> tuple[float, float, float, float]:
        """λ_1, λ_k, μ_1, μ_k."""
        return float(self.l1), float(self.lk), float(self.m1), float(self.mk)

    def mean(self, small: Floats, large: Floats) -> Floats:
        """E[T] from both classes' mean response times, shape (thresholds,)."""
        return np.asarray((self.l1 * small + self.lk * large) / self.rate)

    def weighted(self, small: Floats, large: Floats) -> Floats:
        """E[T^w]: weighs each class by its part of the load (section 6.1)."""
        a, b = self.l1 / (self.k * self.m1), self.lk / self.mk
        return np.asarray((a * small + b * large) / (a + b))


class Curve(NamedTuple):
    """Mean response times of both classes by threshold l = 0..k-1, infinite where they overflow.

    ``assumption_ok`` says where the assumption of an approximation holds; ``exact`` needs none.
    """

    small: Floats
    large: Floats
    assumption_ok: NDArray[np.bool_]


def one_or_all(queue: Instance, whose: str) -> System:
    """Return the system of an exponential, stable one-or-all instance, else `InputError`."""
    if queue.log is not None:
        expected = f"classes of jobs for {whose} (a log has the formulations bound and window)"
        raise InputError(expected, found="a log", place="log")
    pair = queue.one_or_all
    if pair is None:
        needs = ", ".join(str(job.need) for job in queue.classes)
        expected = f"the needs 1 and {queue.servers} (one-or-all) for {whose}"
        raise InputError(expected, found=f"needs {needs}", place="classes")
    require_solvable(queue, whose)
    small, large = (queue.classes[i] for i in pair)
    return System(
        queue.servers,
        small.arrival_rate,
        large.arrival_rate,
        small.service_rate,
        large.service_rate,
    )


def loads(queue: Instance) -> str:
    """Return the load of each class in words."""
    k = queue.servers
    return ", ".join(f"need {job.need}: {job.work / k:.4g}" for job in queue.classes)


def require_solvable(queue: Instance, whose: str) -> None:
    """Raise `InputError` unless all sizes are exponential and the load is below 1."""
    for i, job in enumerate(queue.classes):
        if job.sizes.parameters()[0]:
            raise InputError(
                f"exponential sizes for {whose}; simulate a policy instead",
                found=str(job.sizes.__struct_config__.tag),
                place=f"classes[{i}].sizes",
            )
    if queue.load >= 1:
        raise InputError(
            "a load below 1: no policy is stable beyond (Theorem 2)",
            found=f"{queue.load:.6g} ({loads(queue)})",
            place="classes",
        )
