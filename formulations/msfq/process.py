"""One-or-all systems, and the decision process of their optimal policies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.protocol import Hints, Side, Value
from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import Exponential, Instance

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
        """The load λ_1/(k·μ_1) + λ_k/μ_k; below 1 every threshold is stable (Theorem 1)."""
        return self.l1 / (self.k * self.m1) + self.lk / self.mk

    @property
    def rates(self) -> tuple[float, float, float, float]:
        """λ_1, λ_k, μ_1, μ_k."""
        return float(self.l1), float(self.lk), float(self.m1), float(self.mk)

    def mean(self, small: Any, large: Any) -> Any:
        """Return E[T] from the mean response times of both classes, for one threshold or all."""
        return (self.l1 * small + self.lk * large) / (self.l1 + self.lk)

    def weighted(self, small: Any, large: Any) -> Any:
        """Return E[T^w], which weighs each class by its part of the load (section 6.1)."""
        a, b = self.l1 / (self.k * self.m1), self.lk / self.mk
        return (a * small + b * large) / (a + b)


class Curve(NamedTuple):
    """Mean response times of both classes by threshold l = 0..k-1, infinite if they overflow.

    ``assumption_ok`` is True where the assumption of an approximation holds; ``exact`` has none.
    """

    small: Floats
    large: Floats
    assumption_ok: NDArray[np.bool_]


def one_or_all(queue: Instance, whose: str) -> System:
    """Return the system of an instance; raise `InputError` if it is not one-or-all and stable."""
    if queue.log is not None:
        expected = f"classes of jobs for {whose} (a log has the formulation bound)"
        raise InputError(expected, found="a log", place="log")
    pair = queue.one_or_all
    if pair is None:
        needs = ", ".join(str(job.need) for job in queue.classes)
        expected = f"the needs 1 and {queue.servers} (one-or-all) for {whose}"
        raise InputError(expected, found=f"needs {needs}", place="classes")
    for i, job in enumerate(queue.classes):
        if not isinstance(job.sizes, Exponential):
            raise InputError(
                f"exponential sizes for {whose}; simulate a policy instead",
                found=str(job.sizes.__struct_config__.tag),
                place=f"classes[{i}].sizes",
            )
    if queue.load >= 1:
        each = ", ".join(
            f"need {job.need}: {job.work / queue.servers:.4g}" for job in queue.classes
        )
        raise InputError(
            "a load below 1, as otherwise no policy is stable (Theorem 2)",
            found=f"{queue.load:.6g} ({each})",
            place="classes",
        )
    small, large = (queue.classes[i] for i in pair)
    return System(
        queue.servers,
        small.arrival_rate,
        large.arrival_rate,
        small.service_rate,
        large.service_rate,
    )


class SystemState(NamedTuple):
    """A one-or-all system between two events.

    ``running`` counts small jobs in service; k + 1 means that a large job runs. ``small`` and
    ``large`` count waiting jobs.
    """

    running: int
    small: int
    large: int


@dataclass
class Process:
    """The Markov decision process of nonpreemptive policies, whose long-run cost is minimized.

    After each event a decision starts small jobs on free servers, starts a large job on empty
    servers, or leaves jobs waiting. A job in the system costs ``small_cost`` or ``large_cost`` per
    unit of time.
    """

    system: System
    small_cost: float
    large_cost: float

    def states(self, room: tuple[int, ...]) -> Iterator[SystemState]:
        """Yield all states with at most ``room`` waiting small and large jobs."""
        for large, small in product(range(room[1] + 1), range(room[0] + 1)):
            for running in range(self.system.k + 2):
                yield SystemState(running, small, large)

    def cost(self, state: SystemState) -> float:
        """Return the cost per unit of time in a state."""
        large_runs = state.running == self.system.k + 1
        small = state.small + (0 if large_runs else state.running)
        return self.small_cost * small + self.large_cost * (state.large + large_runs)

    def events(self, state: SystemState) -> Iterator[tuple[float, SystemState]]:
        """Yield the rate of each event and the state before the next decision."""
        k, l1, lk, m1, mk = self.system
        running, small, large = state
        yield l1, SystemState(running, small + 1, large)
        yield lk, SystemState(running, small, large + 1)
        if running == k + 1:
            yield mk, SystemState(0, small, large)
        elif running:
            yield running * m1, SystemState(running - 1, small, large)

    def decisions(self, state: SystemState) -> Iterator[SystemState]:
        """Yield each state that a decision can lead to, the unchanged state first."""
        k = self.system.k
        running, small, large = state
        yield state
        if running == 0 and large:
            yield SystemState(k + 1, small, large - 1)
        if running <= k:
            for more in range(1, min(k - running, small) + 1):
                yield SystemState(running + more, small - more, large)


class WithoutConstraints:
    """Base of formulations without side constraints; ``refusing`` completes the message."""

    problem: ClassVar[str] = "msfq"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    refusing: ClassVar[str]
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
