"""ClassPolicy: no nonpreemptive policy of a system of several classes does better than this."""

import time
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np

from schedopt.formulations.msfq.policy import PolicyFormulation
from schedopt.formulations.msfq.process import ClassProcess
from schedopt.formulations.msfq.system import require_solvable
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance

MOST_CLASSES, MOST_SERVICES = 5, 1000
MOST = 1_500_000
"""The largest box of states, by default."""


class ClassPolicy(PolicyFormulation):
    """Bound all nonpreemptive policies of several classes, and find a policy close to the bound.

    The bound is proven; the policy's cost is simulated, so that nothing is called optimal.

    See `PolicyFormulation`; the queue has two to five classes. The search ends at a relative gap of
    ``tolerance``, or once the box of known values would have more than ``most`` states.
    """

    tolerance: ClassVar[float] = -1.0

    model: ClassProcess

    def __init__(self, queue: Instance, *, tolerance: float = 1e-3, most: int = MOST) -> None:
        began = time.perf_counter()
        super().__init__(queue, {"tolerance": tolerance, "most": most})
        _require(queue)
        self.add(*queue.constraints)
        arrivals = np.array([job.arrival_rate for job in queue.classes])
        needs = [job.need for job in queue.classes]
        ranges = [range(queue.servers // need + 1) for need in needs]
        fitting = [s for s in product(*ranges) if np.dot(s, needs) <= queue.servers]
        process = ClassProcess(
            np.array(fitting, dtype=np.int64),
            arrivals,
            np.array([job.service_rate for job in queue.classes]),
            np.array(queue.weights()) / arrivals,
        )
        self._declare(process)
        self.seconds = time.perf_counter() - began


def _require(queue: Instance) -> None:
    count = len(queue.classes)
    if not 2 <= count <= MOST_CLASSES:
        expected = f"two to {MOST_CLASSES} classes for an optimal policy"
        raise InputError(expected, found=f"{count}", place="classes")
    require_solvable(queue, "an optimal policy")
    if prod(queue.servers // job.need + 1 for job in queue.classes) > 20 * MOST_SERVICES:
        expected = f"at most some {MOST_SERVICES} ways to fill the servers; simulate a policy"
        raise InputError(expected, found=f"{queue.servers} servers", place="servers")
