"""Optimal policies: of a one-or-all system, and of one of several classes.

No nonpreemptive policy does better.
"""

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import product
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np

from schedopt.formulations.msfq.process import (
    ClassProcess,
    Process,
    costs_changed,
    one_or_all,
    require_solvable,
)
from schedopt.formulations.msfq.unruled import Undecoded
from schedopt.formulations.protocol import Settings
from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, checked, is_count, is_number


class PolicyFormulation(Undecoded):
    """The optimal nonpreemptive policy of a system with exponential sizes and a load below 1.

    ``model`` holds events, decisions and costs; its objective is the least long-run cost, and users
    may change its costs. ``certificate`` is what the last bound follows from, None before a solve.
    """

    problem: ClassVar[str] = "msfq"
    refusing: ClassVar[str] = "for an optimal policy (formulation threshold takes response-time)"
    name: ClassVar[str] = "optimal-policy"
    engine: ClassVar[str] = "numeric"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {
        "tolerance": Option(1e-6, "a number above 0", lambda v: is_number(v) and v > 0, asks=False),
        "most": Option(12_000_000, "a whole number of states", is_count, asks=False),
    }

    model: Process | ClassProcess

    def __init__(self, queue: Instance, given: dict[str, Any]) -> None:
        self.options: Settings = checked(given, self.known_options, "optimal-policy")
        self.instance = queue
        self.added: Sequence[Constraint] = ()
        self.certificate: dict[str, object] | None = None
        self.seconds = 0.0

    def _declare(self, process: Process | ClassProcess) -> None:
        """Take a process for the model."""
        self.model, self._declared = process, deepcopy(process)

    @property
    def changed(self) -> bool:
        """Whether the user has changed the process: no more than its costs can be."""
        return self.goal_changed

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed what jobs cost; see `process.costs_changed`."""
        return costs_changed(self.model, self._declared)


NEAR = 1e-6
"""The largest relative gap at which a policy is called optimal."""


class OptimalPolicy(PolicyFormulation):
    """Find the optimal nonpreemptive policy as an average-cost Markov decision process.

    Parameters
    ----------
    queue : Instance
        A one-or-all system with exponential sizes and a load below 1.
    tolerance : float
        Relative: how near to each other the cost of a policy and a bound on all policies are to
        come. What is nearer than that, and than 1e-6, is called optimal.
    most : int
        States at most that a search may look at: it knows values for a box of waiting jobs.

    Attributes
    ----------
    model : Process
        States, events, decisions and costs; the least long-run cost is the objective. Users may
        change its costs.
    certificate : dict or None
        What the last bound follows from, once it has been solved.

    Raises
    ------
    InputError
        If the system is of another sort.

    Notes
    -----
    Classes of other needs are for `ClassPolicy`, which is what is made of them. Policies may keep
    servers idle. Source: Puterman, Markov Decision Processes, Wiley 1994,
    chapter 8.
    """

    model: Process

    def __new__(cls, *given: Any, **options: Any) -> Any:
        """Make a `ClassPolicy` where classes are not one-or-all."""
        several = given and given[0].log is None and given[0].one_or_all is None
        return ClassPolicy(*given, **options) if several else super().__new__(cls)

    def __init__(self, queue: Instance, *, tolerance: float = 1e-6, most: int = 12_000_000) -> None:
        began = time.perf_counter()
        super().__init__(queue, {"tolerance": tolerance, "most": most})
        self.system = system = one_or_all(queue, "an optimal policy")
        self.add(*queue.constraints)
        weights = dict(zip((job.need for job in queue.classes), queue.weights(), strict=True))
        small_cost, large_cost = weights[1] / system.l1, weights[system.k] / system.lk
        self._declare(Process(system, small_cost, large_cost))
        self.seconds = time.perf_counter() - began

    @property
    def tolerance(self) -> float:
        """Relative: at which gap a policy is called optimal."""
        return float(min(self.options["tolerance"], NEAR))


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
