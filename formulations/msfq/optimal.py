"""OptimalPolicy: no nonpreemptive policy of a one-or-all system does better than this one."""

import time
from typing import Any

from schedopt.formulations.msfq.policy import PolicyFormulation
from schedopt.formulations.msfq.process import Process
from schedopt.formulations.msfq.system import one_or_all
from schedopt.instances.msfq import Instance

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
        from schedopt.formulations.msfq.classes import ClassPolicy

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
