"""What an admission rule is, what its compiled twin is, and a rule set up for an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.state import Job, State

Choice = int | Job | None
"""What starts next: the head of a class, a job, or nothing."""
Watch = Callable[[int, int], None]
"""Called with how many jobs have come so far, and how many will."""


class Rule:
    """An admission rule with a memory or options: a fresh one is made for each simulation.

    It is made from the instance and the rule's options, and is asked after each arrival and each
    completion, over and over until it says None. A rule without either is a plain function of the
    state.

    Attributes
    ----------
    memory, numbers : sequence of int, sequence of float
        What the compiled twin begins with, if there is one.
    holding : sequence of float
        Where a rule goes round by a clock: for how long on average, by the value of ``turn``.
        Whoever simulates moves the turn on.
    estimates : bool
        Whether it has to know how long jobs take, whatever is asked for.
    threshold : int or None
        What a result document tells of the rule.
    note : str
        What else is to be said of it beside a result.
    """

    memory: Sequence[int] = ()
    numbers: Sequence[float] = ()
    holding: Sequence[float] = ()
    turn: int = 0
    estimates: bool = False
    threshold: int | None = None
    note: str = ""

    def __call__(self, state: State) -> Choice:
        """Return what starts next: the head of a class, a job, or nothing."""
        raise NotImplementedError


@dataclass(frozen=True)
class Twin:
    """Where the compiled twin of a rule is: functions of flat arrays that numba can compile.

    Attributes
    ----------
    module : str
        The module that holds them, which is not imported before something is simulated.
    next_start : str
        The rule: see `admission_kernels`.
    after_arrival : str
        A shortcut that says what an arrival alone may start; none if empty.
    phases : bool
        Whether the phases of MSFQ (section 4.2) are noted.
    lean : str
        A module whose ``play_lean`` finds the same, sooner, where sizes are exponential and
        response times are not asked for one by one; none if empty.
    """

    module: str
    next_start: str
    after_arrival: str = ""
    phases: bool = False
    lean: str = ""


@dataclass(frozen=True)
class Plan:
    """A rule that is set up for an instance.

    Attributes
    ----------
    name : str
        The policy's name.
    make : callable
        Makes the rule, with nothing in its memory.
    twin : Twin or None
        Its compiled twin.
    """

    name: str
    make: Callable[[], Rule]
    twin: Twin | None = None


def slots(queue: Instance) -> tuple[int, ...]:
    """Return how many jobs of each class fit together: floor(k / need)."""
    return tuple(queue.servers // job.need for job in queue.classes)
