"""OptimalPolicy: the optimal nonpreemptive policy as a Markov decision process."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

from schedopt.formulations.msfq.threshold import System, one_or_all
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, check_options, is_count, is_number


class Process(NamedTuple):
    """The Markov decision process of nonpreemptive policies, whose long-run cost is minimized.

    A job in the system costs ``small_cost`` or ``large_cost`` per unit of time.
    """

    system: System
    small_cost: float
    large_cost: float


class WithoutConstraints:
    """Base of formulations without side constraints; ``refusing`` completes the message."""

    problem: ClassVar[str] = "msfq"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    refusing: ClassVar[str]
    changed: bool = False
    goal_changed: bool = False
    added: Sequence[Constraint] = ()

    def add(self, *constraints: Constraint) -> Self:
        """Raise `InputError` if there is any side constraint."""
        for constraint in constraints:
            raise InputError(
                f"no side constraints {self.refusing}",
                found=quote(constraint.kind()),
                place="constraints",
            )
        return self

    def side_constraints(self) -> Side:
        """Return nothing: there are no side constraints."""
        return {}

    def hint(self, solution: Any) -> Hints:
        """Yield nothing: no engine takes a warm start."""
        yield from ()

    def decode(self, value: Value) -> Any:
        """Raise `NotImplementedError`: the engines return solutions themselves."""
        raise NotImplementedError


class OptimalPolicy(WithoutConstraints):
    """Find the optimal nonpreemptive policy as an average-cost Markov decision process.

    Parameters
    ----------
    queue : Instance
        A one-or-all system with exponential sizes and a load below 1.
    tolerance : float
        The relative gap between the cost of the policy and the bound at which the search stops. A
        policy within it, and within 1e-6, counts as optimal.
    most : int
        Most states of a search, whose values are those of a box of waiting jobs. The default takes
        some GB of memory.

    Attributes
    ----------
    model : Process
        The system, and the costs of jobs.
    certificate : dict or None
        The certificate of the last bound, after a solve.

    Raises
    ------
    InputError
        If the system is of another kind.

    Notes
    -----
    With the relative value h of each state, its cost c, and the rates q of its events, the least
    long-run cost g per unit of time satisfies, for each state x::

        g = c(x) + sum_y q(x, y) (min_{z reachable from y by decisions} h(z) - h(x))

    A decision starts jobs or leaves servers idle. Source: Puterman, Markov Decision Processes,
    Wiley 1994, chapter 8.
    """

    refusing: ClassVar[str] = "for an optimal policy (formulation threshold takes response-time)"
    name: ClassVar[str] = "optimal-policy"
    engine: ClassVar[str] = "numeric"
    known_options: ClassVar[Mapping[str, Option]] = {
        "tolerance": Option(1e-6, "a number above 0", lambda v: is_number(v) and v > 0, asks=False),
        "most": Option(3_000_000, "a whole number of states", is_count, asks=False),
    }
    largest_gap: ClassVar[float] = 1e-6
    """The largest relative gap at which a policy counts as optimal."""

    def __init__(self, queue: Instance, *, tolerance: float = 1e-6, most: int = 3_000_000) -> None:
        began = time.perf_counter()
        options = {"tolerance": tolerance, "most": most}
        self.options: Settings = check_options(options, self.known_options, "optimal-policy")
        self.instance = queue
        self.certificate: dict[str, object] | None = None
        self.system = system = one_or_all(queue, "an optimal policy")
        self.add(*queue.constraints)
        weights = dict(zip((job.need for job in queue.classes), queue.weights(), strict=True))
        small_cost, large_cost = weights[1] / system.l1, weights[system.k] / system.lk
        self.model = Process(system, small_cost, large_cost)
        self.seconds = time.perf_counter() - began

    @property
    def tolerance(self) -> float:
        """The relative gap at which a policy counts as optimal."""
        return float(min(self.options["tolerance"], self.largest_gap))
