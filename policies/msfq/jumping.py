"""MSFQ simulated as a jump chain: several times as fast where mean response times are enough."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.intervals import BATCHES, interval, observations
from schedopt.policies.msfq.one_or_all import pair, threshold_in
from schedopt.policies.msfq.simulation import WARM_UP_FRACTION
from schedopt.policies.registry import NotApplicableError


class Jumped(NamedTuple):
    """What a jump chain tells.

    Attributes
    ----------
    small, large : float
        Mean response times.
    objective, confidence : float
        E[T] or E[T^w], and the half-width of its 95% interval, None where the run is too short.
    """

    small: float
    large: float
    objective: float
    confidence: float | None


def jumped(
    queue: Instance,
    threshold: int | None = None,
    variant: str = "literal",
    *,
    events: int = 10**8,
    seed: int = 0,
) -> Jumped:
    """Simulate MSFQ on a one-or-all system with exponential sizes.

    Parameters
    ----------
    queue : Instance
    threshold : int, optional
        l; k - 1 by default.
    variant : {"literal", "lazy"}
    events : int
        Arrivals and completions.
    seed : int

    Raises
    ------
    NotApplicableError
        If the system is another.
    """
    from schedopt.policies.msfq.jump_kernels import jump
    from schedopt.policies.msfq.kernels import DRAWN_AHEAD
    from schedopt.policies.msfq.random_kernels import stream

    small, large = (queue.classes[c] for c in pair(queue, "the jump chain"))
    if not queue.memoryless:
        raise NotApplicableError("the jump chain needs exponential sizes")
    k, l = queue.servers, threshold_in(queue, threshold)
    areas = np.zeros((BATCHES, 3))
    jump(
        k, small.arrival_rate, large.arrival_rate, small.service_rate,
        large.service_rate, l, variant == "lazy", events, int(WARM_UP_FRACTION * events),
        stream(seed, 4), np.zeros(DRAWN_AHEAD), np.zeros(k + 2), np.zeros(k + 2), areas,
    )  # fmt: skip
    by_batch = areas[:, 1:] / np.array([small.arrival_rate, large.arrival_rate])
    time = areas[:, 0].sum()
    means = by_batch.sum(axis=0) / time  # Little's law
    first, second = pair(queue, "the jump chain")
    weights = np.array([queue.weights()[first], queue.weights()[second]])
    residuals = (by_batch - means * areas[:, :1]) @ weights / areas[:, 0].mean()
    objective = float(weights @ means)
    found = interval(residuals, objective, observations=observations(queue, time))
    return Jumped(float(means[0]), float(means[1]), objective, found.half_width)
