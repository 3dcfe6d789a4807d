"""Threshold: the l of MSFQ with the least response time."""

import time
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.process import Floats, one_or_all
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import Constraint, ResponseTime, check_added, label
from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import ClassTime, Instance, Thresholded
from schedopt.instances.options import Option, check_options

METHODS = ("exact", "area", "paper")
VARIANTS = ("literal", "lazy")
NATIVE = "native constraints"
MOST_EXACT = 1024
"""Servers up to which ``exact`` is offered: each threshold costs the square of them in memory."""


class ThresholdTable:
    """Response times by threshold, arrays of shape (k,): the native model of `Threshold`.

    ``small`` and ``large`` are NaN where not evaluated yet; ``assumption_ok`` says where the
    approximation's assumption holds, ``allowed`` which thresholds may be chosen, by users too.
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
        How response times are found: without truncation, by the better approximation, or by the
        paper's. The last two take O(k) for all thresholds together.
    variant : {"literal", "lazy"}
        Whether a drain begins whenever at most l small jobs are left, as the paper analyses it, or
        only when a large job waits, as its authors' simulator does it; by ``exact`` only.

    Attributes
    ----------
    model : ThresholdTable

    Raises
    ------
    InputError
        If the system is of another sort, or the options do not go together.

    Notes
    -----
    Source: Chen et al., 2025, section 5; every threshold is evaluated, so that no claim about the
    curve's shape is needed.
    """

    problem: ClassVar[str] = "msfq"
    name: ClassVar[str] = "threshold"
    engine: ClassVar[str] = "numeric"
    goal_changed: bool = False
    tolerance: ClassVar[float] = 0.0
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
                "variant=literal: the approximations know no other",
                found=quote(variant),
                place="option variant",
            )
        if method == "exact" and self.system.k > MOST_EXACT:
            raise InputError(
                f"method=area beyond {MOST_EXACT} servers",
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
        """Whether the user has ruled out thresholds."""
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
        check_added(self.instance, [*self.added, *taken])
        self.added = (*self.added, *taken)
        return self

    def side_constraints(self) -> Side:
        """Return each side constraint by name; thresholds that are ruled out are native ones."""
        declared = [*self.instance.constraints, *self.added]
        rows: Side = {label(rule, i): [rule] for i, rule in enumerate(declared)}
        return rows | ({NATIVE: []} if self.changed else {})

    def hint(self, solution: Thresholded) -> Hints:
        """Yield nothing: every threshold is evaluated anyway."""
        yield from ()

    def decode(self, value: Value) -> Thresholded:
        """Return the solution at the threshold ``value("threshold")``."""
        return self.solution(int(value("threshold")))

    def objective(self, small: Floats, large: Floats) -> Floats:
        """Return E[T], or E[T^w], from both classes' mean response times, shape (thresholds,)."""
        combine = self.system.mean if self.instance.objective == "mean" else self.system.weighted
        return np.asarray(combine(small, large))

    @property
    def curve(self) -> Floats:
        """The objective at each l, shape (k,); NaN where it is not evaluated yet."""
        return self.objective(self.model.small, self.model.large)

    def kept_thresholds(self, names: Iterable[str] | None = None) -> NDArray[np.bool_]:
        """Return which evaluated thresholds keep the side constraints of these names (all)."""
        model, side = self.model, self.side_constraints()
        good = np.isfinite(self.curve)
        for name in side if names is None else names:
            if name == NATIVE:
                good &= model.allowed
            for rule in side[name]:
                good &= (model.small if rule.need == 1 else model.large) <= rule.at_most
        return good

    def best(self) -> int | None:
        """Return the best threshold so far that keeps the rules, the least of equals."""
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
