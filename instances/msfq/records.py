"""Records of a queue of multiserver jobs (msfq): servers, and classes of jobs by server need."""

from __future__ import annotations

from functools import cached_property
from math import fsum, inf
from typing import Annotated, Literal

import msgspec

from instances.constraints import Name, ResponseTime, check_names, check_references
from instances.errors import InputError, shown
from instances.msfq.answers import Answer
from instances.msfq.sizes import (
    BoundedPareto,
    Deterministic,
    Empirical,
    Exponential,
    Hyperexponential,
    Lognormal,
    Positive,
)

SideConstraint = ResponseTime
AnyShape = Exponential | Deterministic | Hyperexponential | Lognormal | BoundedPareto | Empirical
LEAST, MOST = 1e-30, 1e30
"""Rates that are taken."""


class JobClass(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """All jobs of one server need.

    Attributes
    ----------
    need : int
        How many servers each of them holds while it runs.
    arrival_rate : float
        λ, jobs per unit of time; arrivals are Poisson.
    service_rate : float
        μ: the mean size is 1/μ.
    sizes : Shape
        How sizes spread about their mean; exponential where nothing is said.
    """

    need: Annotated[int, msgspec.Meta(ge=1)]
    arrival_rate: Positive
    service_rate: Positive
    sizes: AnyShape = Exponential()

    def __post_init__(self) -> None:
        for field in ("arrival_rate", "service_rate"):  # also for classes made in Python
            value = getattr(self, field)
            if isinstance(value, bool) or not 0 < value < inf:
                raise InputError("a finite number > 0", found=shown(value), place=field)
            if not LEAST <= value <= MOST:  # where ratios of rates keep their digits
                expected = f"a number from {LEAST:g} to {MOST:g}"
                raise InputError(expected, found=shown(value), place=field)
        if isinstance(self.need, bool) or self.need != int(self.need) or self.need < 1:
            raise InputError("a whole number >= 1", found=shown(self.need), place="need")

    @property
    def work(self) -> float:
        """j·λ_j/μ_j: how many servers the class keeps busy on average."""
        return self.need * self.arrival_rate / self.service_rate


class Instance(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    dict=True,
    tag_field="problem",
    tag="msfq",
):
    """Identical servers, and a stream of jobs that each hold several of them at once.

    Attributes
    ----------
    name : str
        The instance's name.
    description : str, optional
        A line that says what the instance shows.
    servers : int
        k, at least 1.
    objective : {"mean", "weighted"}
        E[T], or E[T^w] with each class weighing as much as its load (section 6.1).
    classes : tuple of JobClass
        One for each server need; their order decides where a policy leaves a choice open.
    constraints : tuple of Constraint
        Bounds on mean response times.
    """

    name: Name
    description: str | None = None
    servers: Annotated[int, msgspec.Meta(ge=1, le=10**7)]
    objective: Literal["mean", "weighted"] = "mean"
    classes: Annotated[tuple[JobClass, ...], msgspec.Meta(min_length=1)]
    constraints: tuple[SideConstraint, ...] = ()

    def __post_init__(self) -> None:
        if self.servers < 1:
            raise InputError("a number >= 1", found=shown(self.servers), place="servers")
        if not self.classes:
            raise InputError("a class or more", found="none", place="classes")
        seen: dict[int, int] = {}
        for i, job in enumerate(self.classes):
            place = f"classes[{i}].need"
            if job.need > self.servers:
                raise InputError(
                    f"at most {self.servers}, all servers", found=shown(job.need), place=place
                )
            if job.need in seen:
                expected = f"a need of its own: classes[{seen[job.need]}] has it already"
                raise InputError(expected, found=shown(job.need), place=place)
            seen[job.need] = i
        if not fsum(job.work for job in self.classes) < inf:
            raise InputError("a finite load", found="an overflow", place="classes")
        check_names(self.constraints)
        check_references(self.constraints, self.index, self.groups)

    @cached_property
    def index(self) -> dict[str, int]:
        """No side constraint names a single job here."""
        return {}

    @cached_property
    def groups(self) -> dict[str, dict[str, list[int]]]:
        """The classes, by need."""
        return {"need": {str(job.need): [i] for i, job in enumerate(self.classes)}}

    @property
    def arrival_rate(self) -> float:
        """λ, of all classes together."""
        return fsum(job.arrival_rate for job in self.classes)

    @property
    def load(self) -> float:
        """Σ j·λ_j/(k·μ_j): no policy is stable unless it is below 1 (Theorem 2)."""
        return fsum(job.work for job in self.classes) / self.servers

    @property
    def one_or_all(self) -> tuple[int, int] | None:
        """Positions of the class that needs one server and of the class that needs all of them."""
        if self.servers < 2 or {job.need for job in self.classes} != {1, self.servers}:
            return None
        small = next(i for i, job in enumerate(self.classes) if job.need == 1)
        return small, 1 - small

    @property
    def memoryless(self) -> bool:
        """Whether all sizes are exponential."""
        return all(isinstance(job.sizes, Exponential) for job in self.classes)

    def weights(self, objective: str | None = None) -> tuple[float, ...]:
        """Return what each class weighs in E[T] (λ_j/λ) or E[T^w] (ρ_j/ρ).

        Parameters
        ----------
        objective : {"mean", "weighted"}, optional
            The instance's own by default.
        """
        of = [
            job.arrival_rate if (objective or self.objective) == "mean" else job.work
            for job in self.classes
        ]
        total = fsum(of)
        return tuple(one / total for one in of)

    def scaled(self, rate: float) -> Instance:
        """Return the same mix of classes at another total arrival rate."""
        factor = rate / self.arrival_rate
        classes = tuple(
            msgspec.structs.replace(job, arrival_rate=job.arrival_rate * factor)
            for job in self.classes
        )
        return msgspec.structs.replace(self, classes=classes)

    def objective_of(self, solution: Answer) -> float:
        """Return E[T] or E[T^w], as the instance asks."""
        if self.objective == "mean":
            return solution.mean_response_time
        return solution.weighted_response_time
