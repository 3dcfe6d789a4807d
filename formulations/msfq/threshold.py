"""Threshold: the threshold l of MSFQ with the least response time."""

import time
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.process import Floats, one_or_all
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import Constraint, ResponseTime, check_rules, label
from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import ClassTime, Instance, Thresholded
from schedopt.instances.options import Option, check_options

METHODS = ("exact", "area", "paper")
VARIANTS = ("literal", "lazy")
NATIVE = "native constraints"


class ThresholdTable:
    """The native model of `Threshold`: response times by threshold l, arrays of shape (k,).

    Attributes
    ----------
    small, large : ndarray of float
        Mean response times of small and of large jobs, in the file's unit of time; NaN where they
        are not evaluated yet.
    assumption_ok : ndarray of bool
        Where the assumption of the approximation holds.
    allowed : ndarray of bool
        The thresholds that may be chosen; users can change it.
    """

    def __init__(self, k: int) -> None:
        self.small: Floats = np.full(k, np.nan)
        self.large: Floats = np.full(k, np.nan)
        self.assumption_ok = np.ones(k, dtype=np.bool_)
        self.allowed = np.ones(k, dtype=np.bool_)


class Threshold:
    """Choose the threshold l of MSFQ with the least mean, or weighted, response time.

    Parameters
    ----------
    queue : Instance
        A one-or-all system with exponential sizes and a load below 1.
    method : {"exact", "area", "paper"}
        The analysis: exact without truncation, an approximation that is better than the paper's, or
        the approximation of the paper. The approximations take O(k) for all thresholds together.
    variant : {"literal", "lazy"}
        A drain begins whenever at most l small jobs are left, as in the analysis of the paper, or
        only if a large job waits, as in its authors' simulator. ``lazy`` requires ``exact``.

    Attributes
    ----------
    model : ThresholdTable
        The response times of all thresholds, and the thresholds that may be chosen.

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
    goal_changed: bool = False
    tolerance: ClassVar[float] = 0.0
    most_exact: ClassVar[int] = 1024
    """Most servers for the exact method, whose memory grows with their square."""
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {
        "method": Option("exact", "exact, area or paper", lambda v: v in METHODS),
        "variant": Option("literal", "literal or lazy", lambda v: v in VARIANTS),
    }

    def __init__(
        self,
        queue: Instance,
        *,
        method: Literal["exact", "area", "paper"] = "exact",
        variant: Literal["literal", "lazy"] = "literal",
    ) -> None:
        check_options({"method": method, "variant": variant}, self.known_options, "threshold")
        began = time.perf_counter()
        self.instance = queue
        self.system = one_or_all(queue, "a threshold")
        if variant == "lazy" and method != "exact":
            raise InputError(
                "variant=literal, the only variant of the approximations",
                found=quote(variant),
                place="option variant",
            )
        if method == "exact" and self.system.k > self.most_exact:
            raise InputError(
                f"method=area beyond {self.most_exact} servers",
                found=f"method=exact and {self.system.k} servers",
                place="option method",
            )
        self.method, self.variant = method, variant
        self.options: Settings = {"method": method, "variant": variant}
        self.added: Sequence[Constraint] = ()
        self.model = ThresholdTable(self.system.k)
        self.seconds = time.perf_counter() - began

    @property
    def changed(self) -> bool:
        """Whether the user has excluded thresholds."""
        return not self.model.allowed.all()

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
        """Return each side constraint by name; excluded thresholds are native constraints."""
        declared = [*self.instance.constraints, *self.added]
        rows: Side = {label(rule, i): [rule] for i, rule in enumerate(declared)}
        return rows | ({NATIVE: []} if self.changed else {})

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
            if name == NATIVE:
                good &= model.allowed
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
            curve=tuple(
                value if model.allowed[l] and isfinite(value) else None
                for l, value in enumerate(self.curve.tolist())
            ),
            method=self.method,
            variant=self.variant,
            assumption_ok=bool(model.assumption_ok[threshold]),
        )
