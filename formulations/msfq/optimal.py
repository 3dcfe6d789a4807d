"""OptimalPolicy: no nonpreemptive policy of a one-or-all system does better than this one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from schedopt.formulations.msfq.optimal_options import NOWHERE, OPTIONS
from schedopt.formulations.msfq.process import Process
from schedopt.formulations.msfq.system import one_or_all
from schedopt.formulations.msfq.unruled import Unruled
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import Constraint
from schedopt.instances.msfq import Instance, OptimalTable
from schedopt.instances.options import Option, checked

NEAR = 1e-6
"""Relative: at which gap a policy is called optimal at most."""


class OptimalPolicy(Unruled):
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

    problem: ClassVar[str] = "msfq"
    refusing: ClassVar[str] = NOWHERE
    name: ClassVar[str] = "optimal-policy"
    engine: ClassVar[str] = "numeric"
    changed: ClassVar[bool] = False
    goal_changed: ClassVar[bool] = False
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = OPTIONS

    def __new__(cls, *given: Any, **options: Any) -> Any:
        """Make a `ClassPolicy` where classes are not one-or-all."""
        from schedopt.formulations.msfq.classes import ClassPolicy

        several = given and given[0].log is None and given[0].one_or_all is None
        return ClassPolicy(*given, **options) if several else super().__new__(cls)

    def __init__(self, queue: Instance, *, tolerance: float = 1e-6, most: int = 12_000_000) -> None:
        given = {"tolerance": tolerance, "most": most}
        self.options: Settings = checked(given, self.known_options, "optimal-policy")
        began = time.perf_counter()
        self.instance = queue
        self.system = one_or_all(queue, "an optimal policy")
        self.add(*queue.constraints)
        weights = dict(zip((job.need for job in queue.classes), queue.weights(), strict=True))
        self.model = Process(
            self.system,
            small_cost=weights[1] / self.system.l1,
            large_cost=weights[self.system.k] / self.system.lk,
        )
        self.added: Sequence[Constraint] = ()
        self.certificate: dict[str, object] | None = None
        self.seconds = time.perf_counter() - began

    @property
    def tolerance(self) -> float:
        """Relative: at which gap a policy is called optimal."""
        return float(min(self.options["tolerance"], NEAR))

    def side(self) -> Side:
        """Return nothing: there are no side constraints."""
        return {}

    def hint(self, solution: OptimalTable) -> Hints:
        """Yield nothing: the search starts from policies of its own."""
        yield from ()

    def decode(self, value: Value) -> OptimalTable:
        """Raise: only `solvers.msfq` can read a policy off."""
        raise NotImplementedError
