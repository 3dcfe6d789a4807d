"""Results of solvers and policies, and the documents that files hold of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, Literal

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import TypeVar

from schedopt.formulations.protocol import Sense
from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.solvers.question import LazyQuestion, Question, as_document
from schedopt.solvers.stopping import Watch

Termination = Literal[
    "optimal",
    "time-limit",
    "infeasible",
    "unbounded",
    "interrupted",
    "error",
    "completed",
    "not-applicable",
    "unstable",
]
SolutionStatus = Literal["optimal", "feasible", "none"]
NOISE = 1e-9
"""Relative difference below which a bound and an objective are the same number."""
Trace = tuple[tuple[float, float | None, float | None], ...]
"""[seconds, incumbent, bound], a row for each improvement."""


@dataclass(frozen=True)
class Limits:
    """When an engine stops, and what it may use.

    Attributes
    ----------
    time_limit : float, optional
        Seconds of solving; then the incumbent is returned.
    gap : float
        The relative gap at which the engine stops; 0 asks for a proof.
    threads : int, optional
        The number of threads; by default the engine chooses.
    seed : int
        The random seed.
    watch : callable, optional
        Called with the progress of the search; see `solvers.stopping.Watch`.
    """

    time_limit: float | None = None
    gap: float = 0.0
    threads: int | None = None
    seed: int = 0
    watch: Watch | None = None


def threads(limits: Limits) -> int:
    """Return the number of threads; with several the answer may differ from run to run."""
    return limits.threads or min(8, os.cpu_count() or 1)


class Seconds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Wall-clock seconds of each step after reading the file.

    Attributes
    ----------
    build, solve, check : float
        Building the model, solving it, checking the solution.
    confirm, certify, explain : float, optional
        If asked for: solving again, making a certificate, explaining the solution.
    compile : float, optional
        Compiling or loading kernels, if this took noticeably long. The other steps and time limits
        do not include it, since it is spent once for each version and machine.
    """

    build: float = 0.0
    solve: float = 0.0
    check: float = 0.0
    confirm: float | msgspec.UnsetType = msgspec.UNSET
    certify: float | msgspec.UnsetType = msgspec.UNSET
    explain: float | msgspec.UnsetType = msgspec.UNSET
    compile: float | msgspec.UnsetType = msgspec.UNSET


class Outcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields that a `Result` and its `Document` have in common.

    Attributes
    ----------
    instance : str
        The name of the instance.
    problem : str
        The problem, such as ``dssp``.
    formulation : str
        The formulation; absent for a policy.
    solver : str
        The engine that found the solution, or else that proved the outcome; absent for a policy.
    found_by : str or None
        The engine that found the solution; None if a policy did.
    bounded_by : str or None
        The engine that gave the bound.
    proved_by : str or None
        The engine that proved the optimum, or that there is no solution.
    policy : str
        The policy; absent for a solver.
    version : dict of str to str
        The versions of the solver and its libraries.
    termination : str
        Why the run stopped. ``completed``: a policy, or a search without a proof, ran to its end.
    solution_status : str
        Whether there is a solution, and whether it is proven optimal.
    sense : str
        Whether the objective is maximized or minimized.
    objective : float or None
        The objective of the instance; None without a solution.
    bound : float or None
        No solution has a better objective; None if no bound is known.
    gap : float or None
        ``|objective - bound| / max(1e-10, |objective|)``; None if one of the two is unknown.
    confidence : float or None
        Half the width of the objective's 95% confidence interval, if it was simulated.
    seconds : Seconds
        The wall-clock seconds of each step.
    seed : int
        The random seed.
    options : dict
        The options of the formulation or policy, and the limits.
    checked : bool
        Whether the checker has seen the solution.
    bound_checked : bool
        Whether the checker has proved the bound again.
    violations : tuple of str
        What the checker found wrong.
    message : str
        Notes on the run; absent if there are none.
    """

    instance: str
    problem: str
    formulation: str | UnsetType = UNSET
    solver: str | UnsetType = UNSET
    found_by: str | UnsetType | None = UNSET
    bounded_by: str | UnsetType | None = UNSET
    proved_by: str | UnsetType | None = UNSET
    policy: str | UnsetType = UNSET
    version: dict[str, str] = {}
    termination: Termination
    solution_status: SolutionStatus
    sense: Sense
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    confidence: float | UnsetType | None = UNSET
    seconds: Seconds = Seconds()
    seed: int = 0
    options: dict[str, Any] = {}
    checked: bool = False
    bound_checked: bool = False
    violations: tuple[str, ...] = ()
    message: str | UnsetType = UNSET

    @property
    def proven(self) -> bool:
        """Whether the objective is proven to be the optimum."""
        return self.solution_status == "optimal"

    @property
    def credit(self) -> str:
        """Which engines found the solution, gave the bound and proved the optimum, in words."""
        did: dict[str, list[str]] = {}
        for what in ("found", "bounded", "proved"):
            who = getattr(self, f"{what}_by") or None
            if who is not None:
                did.setdefault(who, []).append(what)
        names = [
            ", ".join(whats[:-1]) + " and " * (len(whats) > 1) + f"{whats[-1]} by {who}"
            for who, whats in did.items()
        ]
        return ", ".join(names) or f"by {self.solver or self.policy}"


class Document(Outcome, frozen=True, kw_only=True):
    """A result as a file holds it.

    Attributes
    ----------
    trace : tuple
        [seconds, incumbent, bound], a row for each improvement.
    conflict : tuple of str
        If infeasible: a smallest set of side constraints that cannot hold together.
    objective_of_model : float, optional
        The value of the native model's objective if the user changed it. ``objective`` is that of
        the instance.
    certificate : dict, optional
        The proof of the bound; its ``kind`` says of which form.
    explanation : dict, optional
        Why jobs are left out, what each side constraint costs, and what more capacity would bring.
    risk : dict, optional
        If run times are uncertain: the value ``in_sample``, in the ``scenarios`` that were decided
        over, the value ``out_of_sample``, in others, and ``confidence``, half the width of the 95%
        confidence interval of the latter.
    question : Question, optional
        What was asked; absent from results of earlier versions.
    constraints : tuple of dict
        The side constraints beyond those in the instance file.
    solution : dict
        The solution; empty if there is none.
    plan : tuple of dict, optional
        The plan of the verb ``plan``: a row for each job.
    night : dict, optional
        Of a plan: the instance, as a file of its own would hold it.
    history : tuple of dict, optional
        Of a plan: what has happened since the night began, see `schedopt.planning.history`.
    """

    trace: Trace = ()
    conflict: tuple[str, ...] = ()
    objective_of_model: float | UnsetType = UNSET
    certificate: dict[str, Any] | UnsetType = UNSET
    explanation: dict[str, Any] | UnsetType = UNSET
    risk: dict[str, float] | UnsetType = UNSET
    question: Question | UnsetType = UNSET
    constraints: tuple[dict[str, Any], ...] = ()
    solution: dict[str, Any] = {}
    plan: tuple[dict[str, Any], ...] | UnsetType = UNSET
    night: msgspec.Raw | UnsetType = UNSET
    history: tuple[Any, ...] | UnsetType = UNSET


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that only some results have; `Document` describes each."""

    trace: Trace = ()
    conflict: tuple[str, ...] = ()
    objective_of_model: float | UnsetType = UNSET
    certificate: dict[str, Any] | UnsetType = UNSET
    explanation: dict[str, Any] | UnsetType = UNSET
    risk: dict[str, float] | UnsetType = UNSET


S = TypeVar("S", default=Any)
MOST_SHOWN = 200
"""Characters of a conflict that are shown at a prompt."""


class Result(Outcome, Generic[S], frozen=True, kw_only=True):
    """The answer of a solver or a policy.

    Attributes
    ----------
    solution : solution record or None
        The problem's own record, such as `instances.dssp.Selected`.
    constraints : tuple of Constraint
        The side constraints beyond the instance's.
    asked : LazyQuestion or None
        The question that the result answers.
    details : Details
        What few results have. Each is also an attribute: ``trace``, ``conflict``,
        ``objective_of_model``, ``certificate``, ``explanation`` and ``risk``.
    """

    solution: S | None = None
    constraints: tuple[Constraint, ...] = ()
    asked: LazyQuestion | None = None
    details: Details = Details()

    @property
    def trace(self) -> Trace:
        """[seconds, incumbent, bound], a row for each improvement."""
        return self.details.trace

    @property
    def conflict(self) -> tuple[str, ...]:
        """If infeasible: a smallest set of side constraints that cannot hold together."""
        return self.details.conflict

    @property
    def objective_of_model(self) -> float | UnsetType:
        """The value of the native model's objective if the user changed it."""
        return self.details.objective_of_model

    @property
    def certificate(self) -> dict[str, Any] | UnsetType:
        """The proof of the bound, if it was asked for and found."""
        return self.details.certificate

    @property
    def explanation(self) -> dict[str, Any] | UnsetType:
        """Why jobs are left out and what constraints cost, if it was asked for."""
        return self.details.explanation

    @property
    def risk(self) -> dict[str, float] | UnsetType:
        """The value over scenarios of run times, if they are uncertain."""
        return self.details.risk

    def with_details(self, **changes: Any) -> Result[S]:
        """Return the result with other values of some fields of `details`."""
        details = msgspec.structs.replace(self.details, **changes)
        return msgspec.structs.replace(self, details=details)

    def __repr__(self) -> str:
        """Return a summary on one line; `document` returns all fields."""
        facts = ", ".join(f"{key} {value}" for key, value in self._facts()[2:])
        return f"<Result of {self.instance!r}: {self._facts()[1][1]}, {facts}>"

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{escape(key)}</th><td>{escape(value)}</td>" for key, value in self._facts()
        )
        return f"<table>{''.join(rows)}</table>"

    def _facts(self) -> list[tuple[str, str]]:
        who = self.policy or f"{self.formulation} with {self.solver}"
        facts = [("instance", f"{self.instance} ({self.problem})"), ("found by", str(who))]
        if self.proved_by and self.proved_by != self.solver:
            facts.append(("proved by", str(self.proved_by)))
        facts.append(("outcome", f"{self.solution_status} ({self.termination})"))
        for key in ("objective", "confidence", "bound", "gap"):
            value = getattr(self, key)
            if isinstance(value, float | int):
                facts.append((key, f"{value:,.10g}"))
        if self.bound is not None:
            facts.append(("bound", "re-proved" if self.bound_checked else "not re-proved"))
        if self.violations:
            facts.append(("violations", f"{len(self.violations):,}"))
        if self.conflict:
            facts.append(("conflict", ", ".join(self.conflict)[:MOST_SHOWN]))
        return facts

    def document(self) -> Document:
        """Return the result as a file holds it, with the question that it answers."""
        written = self.written()
        return msgspec.structs.replace(written, solution=as_document(written.solution))

    def claim(self) -> Document:
        """Return the result as a file holds it, without the question."""
        return msgspec.structs.replace(self.document(), question=UNSET)

    def written(self, *, question: bool = True) -> Document:
        """Return the document with the solution's record in place of its JSON, which is fast."""
        solution: Any = self.solution
        plan: dict[str, Any] = {}
        if question and self.asked is not None and self.asked.history is not None:
            night = msgspec.Raw(to_json(self.asked.instance.as_filed()))
            plan = {"night": night, "history": tuple(map(as_document, self.asked.history))}
        return Document(
            **{name: getattr(self, name) for name in Outcome.__struct_fields__},
            **msgspec.structs.asdict(self.details),
            **plan,
            question=self.asked.question if question and self.asked else UNSET,
            constraints=tuple(as_document(rule) for rule in self.constraints),
            solution={} if solution is None else solution,
        )


def gap(objective: float | None, bound: float | None) -> float | None:
    """Return ``|objective - bound| / max(1e-10, |objective|)``, or None if one is unknown."""
    if objective is None or bound is None:
        return None
    return abs(objective - bound) / max(1e-10, abs(objective))


def better(sense: Sense, a: float, b: float) -> bool:
    """Return True if objective ``a`` is better than ``b``."""
    return a > b if sense == "maximize" else a < b


def snap_bound(objective: float | None, bound: float | None) -> float | None:
    """Return the objective in place of a bound that differs from it by rounding only."""
    if objective is None or bound is None:
        return bound
    return objective if abs(objective - bound) <= NOISE * abs(objective) else bound


def alarm(holder: Result, claim: Result, near: float = 0.0) -> str:
    """Return how the solution of one result contradicts the bound of another; empty if it does not.

    Parameters
    ----------
    holder : Result
        The result with the solution.
    claim : Result
        The result with the bound, or the proof that there is no solution.
    near : float
        The relative difference that counts as rounding, if greater than 1e-9.
    """
    value, bound = holder.objective, claim.bound
    if holder.solution is None or value is None:
        return ""
    words = f"{holder.found_by or holder.policy or 'the start'} found a solution worth {value:.15g}"
    by = claim.proved_by or claim.bounded_by or claim.solver or "the bound"
    if claim.termination == "infeasible":
        return f"{words}, and {by} proved that there is none: one of the two is wrong"
    if bound is None:
        return ""
    beyond = value - bound if claim.sense == "maximize" else bound - value
    if beyond <= max(NOISE, near) * max(abs(value), abs(bound)):
        return ""
    return f"{words}, and {by} proved the bound {bound:.15g}: one of the two is wrong"


def with_alarm(result: Result, what: str) -> Result:
    """Return the result in error: it keeps its solution, and nothing is proven."""
    if not what:
        return result
    said = f"{result.message}; {what}" if result.message else what
    result = msgspec.structs.replace(
        result,
        termination="error",
        solution_status="none" if result.solution is None else "feasible",
        bound=None,
        gap=None,
        proved_by=None,
        message=said,
    )
    return result.with_details(conflict=())
