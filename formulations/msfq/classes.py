"""ClassPolicy: no nonpreemptive policy of a system of several classes does better than this."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.optimal_options import NOWHERE, OPTIONS
from schedopt.formulations.msfq.system import loads
from schedopt.formulations.msfq.unruled import Unruled
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance, Simulated
from schedopt.instances.options import Option, checked

MOST_CLASSES, MOST_SERVICES = 5, 1000
MOST = 1_500_000
"""States up to which boxes grow where nothing else is said."""
Floats = NDArray[np.float64]


@dataclass
class ClassProcess:
    """Minimise the long-run cost per unit of time over all nonpreemptive policies.

    A state says how many jobs of each class are in the system and how many of them are in service.
    After each event any waiting jobs that fit may be started, or left waiting.

    Attributes
    ----------
    services : ndarray of int, shape (Q, C)
        All that can be in service at once, in lexicographic order.
    arrivals, rates : ndarray, shape (C,)
        λ and μ.
    costs : ndarray, shape (C,)
        What a job of each class costs for each unit of time that it is in the system.
    """

    services: NDArray[np.int64]
    arrivals: Floats
    rates: Floats
    costs: Floats


class ClassPolicy(Unruled):
    """Bound all nonpreemptive policies of several classes, and find one that comes near.

    Parameters
    ----------
    queue : Instance
        Two to five classes with exponential sizes and a load below 1.
    tolerance : float
        Relative: at which gap the search ends.
    most : int
        States at most of the box that values are known for.

    Attributes
    ----------
    model : ClassProcess
        Events, decisions and costs; the least long-run cost is the objective.
    certificate : dict or None
        What the last bound follows from, once it has been solved.

    Raises
    ------
    InputError
        If the system is of another sort.

    Notes
    -----
    The bound is proven; what the policy costs is simulated, so that nothing is called optimal.
    """

    problem: ClassVar[str] = "msfq"
    refusing: ClassVar[str] = NOWHERE
    name: ClassVar[str] = "optimal-policy"
    engine: ClassVar[str] = "numeric"
    changed: ClassVar[bool] = False
    goal_changed: ClassVar[bool] = False
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = OPTIONS
    tolerance: ClassVar[float] = -1.0

    def __init__(self, queue: Instance, *, tolerance: float = 1e-3, most: int = MOST) -> None:
        given = {"tolerance": tolerance, "most": most}
        self.options: Settings = checked(given, self.known_options, "optimal-policy")
        began = time.perf_counter()
        self.instance = queue
        _require(queue)
        self.added: Sequence[Constraint] = ()
        self.add(*queue.constraints)
        weights = np.array(queue.weights())
        arrivals = np.array([job.arrival_rate for job in queue.classes])
        needs = [job.need for job in queue.classes]
        ranges = [range(queue.servers // need + 1) for need in needs]
        fitting = [s for s in product(*ranges) if np.dot(s, needs) <= queue.servers]
        self.model = ClassProcess(
            np.array(fitting, dtype=np.int64),
            arrivals,
            np.array([job.service_rate for job in queue.classes]),
            weights / arrivals,
        )
        self.certificate: dict[str, object] | None = None
        self.seconds = time.perf_counter() - began

    def side(self) -> Side:
        """Return nothing: there are no side constraints."""
        return {}

    def hint(self, solution: Simulated) -> Hints:
        """Yield nothing: the search starts from nothing."""
        yield from ()

    def decode(self, value: Value) -> Simulated:
        """Raise: only `solvers.msfq` can tell what a policy costs."""
        raise NotImplementedError


def _require(queue: Instance) -> None:
    count = len(queue.classes)
    if not 2 <= count <= MOST_CLASSES:
        expected = f"two to {MOST_CLASSES} classes for an optimal policy"
        raise InputError(expected, found=f"{count}", place="classes")
    for i, job in enumerate(queue.classes):
        if job.sizes.parameters()[0]:
            raise InputError(
                "exponential sizes for an optimal policy; simulate a policy instead",
                found=str(job.sizes.__struct_config__.tag),
                place=f"classes[{i}].sizes",
            )
    if queue.load >= 1:
        raise InputError(
            "a load below 1: no policy is stable beyond (Theorem 2)",
            found=f"{queue.load:.6g} ({loads(queue)})",
            place="classes",
        )
    if prod(queue.servers // job.need + 1 for job in queue.classes) > 20 * MOST_SERVICES:
        expected = f"at most some {MOST_SERVICES} ways to fill the servers; simulate a policy"
        raise InputError(expected, found=f"{queue.servers} servers", place="servers")
