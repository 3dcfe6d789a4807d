"""Threshold: the threshold l of MSFQ with the least response time, of a one-or-all system."""

import time
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import Constraint, ResponseTime, check_rules, label
from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import ClassTime, Exponential, Instance, Thresholded
from schedopt.instances.options import Option, check_options

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

    def mean(self, small: Any, large: Any) -> Any:
        """Return E[T] from the mean response times of both classes, for one threshold or all."""
        return (self.l1 * small + self.lk * large) / (self.l1 + self.lk)

    def weighted(self, small: Any, large: Any) -> Any:
        """Return E[T^w], which weighs each class by its part of the load (section 6.1)."""
        a, b = self.l1 / (self.k * self.m1), self.lk / self.mk
        return (a * small + b * large) / (a + b)


class Curve(NamedTuple):
    """Response times by threshold l, arrays of shape (k,): the native model of `Threshold`.

    Attributes
    ----------
    small, large : ndarray of float
        Mean response times of small and of large jobs, in the file's unit of time; NaN where they
        are not evaluated yet, infinite if they overflow.
    assumption_ok : ndarray of bool
        Where the assumption of an approximation holds; the exact method has none.
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


class Threshold:
    """Choose the threshold l of MSFQ with the least mean, or weighted, response time.

    Parameters
    ----------
    queue : Instance
        A one-or-all system with exponential sizes and a load below 1.
    method : {"exact", "area", "paper"}
        The analysis: exact without truncation, an approximation that is better than the paper's, or
        the approximation of the paper. The approximations take O(k) for all thresholds together.

    Attributes
    ----------
    model : Curve
        The response times of all thresholds.

    Raises
    ------
    InputError
        If the system is of another kind, or the options contradict each other.

    Notes
    -----
    With the arrival rates λ and the mean response times E[T] of small (1) and large (k) jobs::

        minimize    (λ_1 E[T_1(l)] + λ_k E[T_k(l)]) / (λ_1 + λ_k)    over l = 0, ..., k - 1
        subject to  E[T_c(l)] <= at_most              each response-time constraint on a class c

    The weighted objective weighs classes by their part of the load. Every threshold is evaluated,
    so that no claim about the shape of the curve is needed. Source: Chen et al., 2025, section 5.
    """

    problem: ClassVar[str] = "msfq"
    name: ClassVar[str] = "threshold"
    engine: ClassVar[str] = "numeric"
    changed: bool = False
    goal_changed: bool = False
    tolerance: ClassVar[float] = 0.0
    most_exact: ClassVar[int] = 1024
    """Most servers for the exact method, whose memory grows with their square."""
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {
        "method": Option(
            "exact", "exact, area or paper", lambda v: v in ("exact", "area", "paper")
        ),
    }

    def __init__(
        self, queue: Instance, *, method: Literal["exact", "area", "paper"] = "exact"
    ) -> None:
        self.options: Settings = check_options({"method": method}, self.known_options, "threshold")
        began = time.perf_counter()
        self.instance = queue
        self.system = one_or_all(queue, "a threshold")
        if method == "exact" and self.system.k > self.most_exact:
            raise InputError(
                f"method=area beyond {self.most_exact} servers",
                found=f"method=exact and {self.system.k} servers",
                place="option method",
            )
        self.method = method
        self.added: Sequence[Constraint] = ()
        k = self.system.k
        self.model = Curve(np.full(k, np.nan), np.full(k, np.nan), np.ones(k, dtype=np.bool_))
        self.seconds = time.perf_counter() - began

    def add(self, *constraints: Constraint) -> Self:
        """Add response-time constraints; `InputError` for one of another kind or class."""
        taken: list[ResponseTime] = []
        for constraint in constraints:
            if not isinstance(constraint, ResponseTime):
                raise InputError(
                    "a kind that a threshold takes (one of 'response-time')",
                    found=quote(constraint.kind()),
                    place="constraints",
                )
            taken.append(constraint)
        check_rules(self.instance, [*self.added, *taken])
        self.added = (*self.added, *taken)
        return self

    def side_constraints(self) -> Side:
        """Return each side constraint by name."""
        declared = [*self.instance.constraints, *self.added]
        return {label(rule, i): [rule] for i, rule in enumerate(declared)}

    def hint(self, solution: Thresholded) -> Hints:
        """Yield nothing: every threshold is evaluated."""
        yield from ()

    def decode(self, value: Value) -> Thresholded:
        """Return the solution at the threshold ``value("threshold")``."""
        return self.solution(int(value("threshold")))

    def objective(self, small: Floats, large: Floats) -> Floats:
        """Return E[T], or E[T^w], from the mean response times of both classes, shape (n,)."""
        combine = self.system.mean if self.instance.objective == "mean" else self.system.weighted
        return np.asarray(combine(small, large))

    @property
    def curve(self) -> Floats:
        """The objective at each l, shape (k,); NaN where it is not evaluated yet."""
        return self.objective(self.model.small, self.model.large)

    def kept_thresholds(self, names: Iterable[str] | None = None) -> NDArray[np.bool_]:
        """Return which evaluated thresholds satisfy the named side constraints, by default all."""
        model, side = self.model, self.side_constraints()
        good = np.isfinite(self.curve)
        for name in side if names is None else names:
            for rule in side[name]:
                good &= (model.small if rule.need == 1 else model.large) <= rule.at_most
        return good

    def best(self) -> int | None:
        """Return the best feasible threshold so far, the smallest if several are."""
        good = self.kept_thresholds()
        return int(np.argmin(np.where(good, self.curve, np.inf))) if good.any() else None

    def solution(self, threshold: int) -> Thresholded:
        """Return the solution record at a threshold that has been evaluated."""
        model, system = self.model, self.system
        small, large = float(model.small[threshold]), float(model.large[threshold])
        times = {1: small, system.k: large}
        return Thresholded(
            threshold=threshold,
            mean_response_time=system.mean(small, large),
            weighted_response_time=system.weighted(small, large),
            classes=tuple(
                ClassTime(need=job.need, mean_response_time=times[job.need])
                for job in self.instance.classes
            ),
            curve=tuple(value if isfinite(value) else None for value in self.curve.tolist()),
            method=self.method,
            assumption_ok=bool(model.assumption_ok[threshold]),
        )
