"""The result of a run: why it stopped, what is in hand, how sure it is, and what it cost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import TypeVar

from schedopt.formulations.protocol import Sense
from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.protocol import Identity, identity
from schedopt.instances.showing import table
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
"""A bound and an objective that differ by less than this, relatively, are the same number."""


@dataclass(frozen=True)
class Limits:
    """When to stop, and what the engine may use.

    Attributes
    ----------
    time_limit : float, optional
        Seconds of solving; the incumbent is kept.
    gap : float
        The relative gap that is good enough; 0 asks for a proof.
    threads, seed : int
        The engine's threads, its own choice where None, and its random seed.
    watch : callable, optional
        Called as progress is made; see `solvers.stopping.Watch`.
    many : bool
        Whether many models are solved in this process: compiled engines pay for small ones too.
    """

    time_limit: float | None = None
    gap: float = 0.0
    threads: int | None = None
    seed: int = 0
    watch: Watch | None = None
    many: bool = False


def threads(limits: Limits) -> int:
    """Return how many threads search; with several the answer may differ from run to run."""
    return limits.threads or min(8, os.cpu_count() or 1)


class Seconds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Wall-clock time of each step: together, all that a solve took beside reading.

    Attributes
    ----------
    build, solve, check : float
    confirm, certify, explain : float, optional
        Where it was asked for: solving again, finding a certificate, finding prices.
    compile : float, optional
        What kernels took to be compiled or loaded, where one noticed it. It is no part of the
        others, and no time limit counts it: it is spent once for each version and machine.
    """

    build: float = 0.0
    solve: float = 0.0
    check: float = 0.0
    confirm: float | msgspec.UnsetType = msgspec.UNSET
    certify: float | msgspec.UnsetType = msgspec.UNSET
    explain: float | msgspec.UnsetType = msgspec.UNSET
    compile: float | msgspec.UnsetType = msgspec.UNSET


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which question a result answers.

    ``formulation`` is None of a policy, whose solution says what it answers; ``options`` are those
    that change what is asked, ``constraints`` the file's own, then those that were added.
    """

    instance: Identity
    formulation: str | None = None
    options: dict[str, Any] = {}
    constraints: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class LazyQuestion:
    """What a result was asked for; told when it is written, since a digest takes time.

    ``options`` are those that change what is asked, ``added`` the side constraints beyond the
    instance's. ``history`` is that of a plan document: what had happened when the rest of the
    instance was planned; None of any other result.
    """

    instance: Any
    formulation: str | None
    options: Mapping[str, Any]
    added: Sequence[Constraint] = ()
    history: Sequence[Any] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyQuestion) and self.question == other.question

    def __hash__(self) -> int:
        return hash(self.formulation)

    @classmethod
    def of_document(
        cls, question: Question, instance: Any = None, history: Sequence[Any] | None = None
    ) -> LazyQuestion:
        """Return what was asked as a document tells it."""
        asked = cls(instance, question.formulation, question.options, (), history)
        asked.__dict__["question"] = question
        return asked

    @cached_property
    def question(self) -> Question:
        """The question, as a document tells it."""
        rules = [*self.instance.constraints, *self.added]
        return Question(
            instance=identity(self.instance),
            formulation=self.formulation,
            options=as_document(dict(self.options)),
            constraints=tuple(as_document(rule) for rule in rules),
        )


class Outcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What results and their documents have in common: all but the solution and the rules.

    Attributes
    ----------
    instance, problem : str
        What was solved.
    formulation, solver : str
        What it was solved as and with; absent for a policy. The solver is the engine that found the
        solution; where none did, the one that proved what is known.
    found_by, bounded_by, proved_by : str or None
        The engines that found the solution, gave the bound, and proved the optimum or that there is
        no solution; None where no engine did: a policy may have found the solution.
    policy : str
        Which policy; absent for a solver.
    termination : str
        Why the run stopped; ``completed`` is a policy, or a search without a proof,
        that ran to its end.
    solution_status : str
        What is in hand.
    objective, bound, gap : float or None
        None means unknown. The gap is ``|objective - bound| / max(1e-10, |objective|)``.
    confidence : float or None
        Where the objective was simulated: the half-width of its 95% interval, in its own unit.
    trace : tuple
        [seconds, incumbent, bound] each time one of the two improved.
    conflict : tuple of str
        Where infeasible: a smallest set of side constraints that cannot hold together.
    checked : bool
        Whether the checker has seen it; `violations` is what it found.
    bound_checked : bool
        Whether the checker has re-proved the bound.
    certificate : dict, optional
        What the bound is re-proved from; its ``kind`` says how.
    explanation : dict, optional
        Why it is as it is: what is left out and why, what each rule costs, what more would bring.
    risk : dict, optional
        Where run times are uncertain: ``in_sample``, what it is worth in the ``scenarios`` that
        decided, ``out_of_sample``, in others, and ``confidence``, half of that one's 95% interval.
    objective_of_model : float, optional
        Where the user changed the objective of the native model: its value. ``objective`` is the
        instance's.
    message : str
        A line about what happened, where there is something to say.
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
    conflict: tuple[str, ...] = ()
    trace: tuple[tuple[float, float | None, float | None], ...] = ()
    objective_of_model: float | UnsetType = UNSET
    message: str | UnsetType = UNSET
    certificate: dict[str, Any] | UnsetType = UNSET
    explanation: dict[str, Any] | UnsetType = UNSET
    risk: dict[str, float] | UnsetType = UNSET

    @property
    def proven(self) -> bool:
        """Whether the objective is the optimum, not only the best that was found."""
        return self.solution_status == "optimal"

    @property
    def credit(self) -> str:
        """Who found the solution, gave the bound and proved the optimum, in words."""
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
    """A result as a file holds it; a checker decodes what is in it afresh.

    Attributes
    ----------
    question : Question, optional
        Absent from results of earlier versions.
    constraints : tuple of dict
        The side constraints beyond those in the instance file.
    solution : dict
        Empty where there is none.
    plan : tuple of dict, optional
        The same as the verb ``plan`` tells it: a row for each job.
    night : dict, optional
        Of a plan: the instance, as a file of its own would hold it.
    history : tuple of dict, optional
        Of a plan: what has happened since the night began, see `schedopt.planning.history`.
    """

    question: Question | UnsetType = UNSET
    constraints: tuple[dict[str, Any], ...] = ()
    solution: dict[str, Any] = {}
    plan: tuple[dict[str, Any], ...] | UnsetType = UNSET
    night: msgspec.Raw | UnsetType = UNSET
    history: tuple[Any, ...] | UnsetType = UNSET


S = TypeVar("S", default=Any)
MOST_SHOWN = 200
"""Characters of a conflict that are shown at a prompt."""


class Result(Outcome, Generic[S], frozen=True, kw_only=True):
    """A result of a solver or of a policy, to the question ``asked``.

    ``constraints`` are those beyond the instance's; ``solution`` is the problem's own record, such
    as `instances.dssp.Selected`, or None.
    """

    asked: LazyQuestion | None = None
    constraints: tuple[Constraint, ...] = ()
    solution: S | None = None

    def __repr__(self) -> str:
        """Return what came of it in a line; `document()` has all of it."""
        facts = ", ".join(f"{key} {value}" for key, value in self._facts()[2:])
        return f"<Result of {self.instance!r}: {self._facts()[1][1]}, {facts}>"

    def _repr_html_(self) -> str:
        return table(self._facts())

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
        """Return the result as a file holds it, without the question, which takes a digest."""
        written = self.written(question=False)
        return msgspec.structs.replace(written, solution=as_document(written.solution))

    def written(self, *, question: bool = True) -> Document:
        """Return what has the text of the document, the solution still a record, which is fast."""
        solution: Any = self.solution
        plan: dict[str, Any] = {}
        if question and self.asked is not None and self.asked.history is not None:
            night = msgspec.Raw(to_json(self.asked.instance.as_filed()))
            plan = {"night": night, "history": tuple(map(as_document, self.asked.history))}
        return Document(
            **{name: getattr(self, name) for name in Outcome.__struct_fields__},
            **plan,
            question=self.asked.question if question and self.asked else UNSET,
            constraints=tuple(as_document(rule) for rule in self.constraints),
            solution={} if solution is None else solution,
        )


def gap(objective: float | None, bound: float | None) -> float | None:
    """Return the relative gap of the contract, None where either number is unknown."""
    if objective is None or bound is None:
        return None
    return abs(objective - bound) / max(1e-10, abs(objective))


def better(sense: Sense, a: float, b: float) -> bool:
    """Tell whether one objective is better than another."""
    return a > b if sense == "maximize" else a < b


def snap_bound(objective: float | None, bound: float | None) -> float | None:
    """Return the bound, put right where rounding alone keeps it from the objective."""
    if objective is None or bound is None:
        return bound
    return objective if abs(objective - bound) <= NOISE * abs(objective) else bound


def as_document(record: Any) -> Any:
    """Return a record as a document holds it: only what JSON knows."""
    return msgspec.json.decode(to_json(record))
