"""One instance's share of a sweep: the reference once, then each policy, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import msgspec

from instances.constraints import Constraint
from instances.errors import InputError, shown
from instances.files import parse
from schedopt.problems import catalog
from schedopt.problems import two_phase as composing
from schedopt.sweep.plan import Run, dispatches
from schedopt.sweep.rows import Row
from schedopt.sweep.sources import Source
from schedopt.verbs.evaluate import evaluate, warm
from schedopt.verbs.solve import solve
from solvers.result import Result


@dataclass(frozen=True)
class Task:
    """What is to be done with one instance.

    Attributes
    ----------
    source : Source
    digest : str
        The source's, when the sweep was planned.
    runs : tuple of Run
        The rows that are wanted.
    constraints : tuple of Constraint
        Side constraints beyond the instance's own.
    time_limit : float or None
        Seconds for each reference.
    seed : int
        The solver's.
    lost : mapping of str to str
        References that are not to be tried (again), and what is said of them instead.
    """

    source: Source
    digest: str
    runs: tuple[Run, ...]
    constraints: tuple[Constraint, ...] = ()
    time_limit: float | None = None
    seed: int = 0
    lost: Mapping[str, str] | None = None


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """A step begins: a reference by name, or a run, with the row that stands if it never ends."""

    reference: str | None = None
    row: Row | None = None


class Done(msgspec.Struct, frozen=True, tag="done"):
    """A run has ended: its row."""

    row: Row


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The instance cannot be used, and why."""

    why: str


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """All runs have ended."""


Step = Begun | Done | Failed | Finished


def steps(task: Task) -> Iterator[Step]:
    """Do a task, and yield what happens as it happens; what goes wrong is a step too."""
    try:
        yield from _steps(task)
    except InputError as error:
        text = str(error)
        label = task.source.label
        yield Failed(text if label in text else f"{label}: {text}")
    except Exception as error:  # noqa: BLE001  one instance must not end the others
        yield Failed(f"{task.source.label}: {type(error).__name__}: {shown(str(error))}")
    else:
        yield Finished()


def _steps(task: Task) -> Iterator[Step]:
    if task.source.digest() != task.digest:
        raise InputError(
            "the instance as it was when the sweep began",
            found="other contents",
            file=task.source.label,
        )
    instance = task.source.load()
    references = _References(instance, task)
    for run in task.runs:
        policy = composing.policy(references.problem, run.policy, task.constraints)
        warm(policy)
        yield from references.prepare(policy, run.options)
        reference = references.of(policy, run.options)
        yield Begun(row=_blank(task, run, instance, reference))
        yield Done(_row(task, run, instance, reference))


class _References:
    """What policies are measured against: the optimum that bounds them.

    For policies that only choose it is the best choice under the same options; for those whose jobs
    are run it is the best choice in the bounding instance, whatever was planned; and some problems
    name a reference of their own.
    """

    def __init__(self, instance: Any, task: Task) -> None:
        self._instance, self._task = instance, task
        self.problem = str(type(instance).__struct_config__.tag)
        self._kind = catalog.formulation_type(self.problem)
        self._known: dict[tuple[str, bytes], Result] = {}

    def prepare(self, policy: Any, options: Mapping[str, Any]) -> Iterator[Step]:
        """Find a policy's reference if it is not known yet."""
        name, own = self._which(policy, options)
        if (name, _key(own)) in self._known:
            return
        said = f"{name} {_key(own).decode()}"
        if said in (self._task.lost or {}):
            found = self._none((self._task.lost or {})[said])
        else:
            _warm(self.problem)
            yield Begun(reference=said)
            found = self._find(name, own)
        self._known[name, _key(own)] = found

    def of(self, policy: Any, options: Mapping[str, Any]) -> Result:
        """Return a policy's reference, which is known."""
        name, own = self._which(policy, options)
        return self._known[name, _key(own)]

    def _which(self, policy: Any, options: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        own = {k: v for k, v in options.items() if k in self._kind.known_options}
        if self.problem in catalog.REFERENCES:
            return "own", own
        if dispatches(policy):
            module = import_module(type(self._instance).__module__.rpartition(".")[0])
            if module.bounding(self._instance) is not self._instance:
                return "bounding", {}
            own = {}
        return "planned", own

    def _find(self, name: str, own: Mapping[str, Any]) -> Result:
        rules = self._task.constraints
        if name == "own":
            limits = {"constraints": rules, "time_limit": self._task.time_limit}
            reference = catalog.reference(self.problem)
            return reference(self._instance, options=own, **limits)  # type: ignore[no-any-return]
        if name == "bounding":
            module = import_module(type(self._instance).__module__.rpartition(".")[0])
            return self._solved(module.bounding(self._instance), (), own)
        return self._solved(self._instance, rules, own)

    def _solved(self, instance: Any, rules: Any, options: Mapping[str, Any]) -> Result:
        return solve(
            instance,
            constraints=rules,
            time_limit=self._task.time_limit,
            threads=1,
            seed=self._task.seed,
            options=options,
        )

    def _none(self, why: str) -> Result:
        return Result(
            instance=self._instance.name,
            problem=self.problem,
            termination="time-limit",
            solution_status="none",
            sense=self._kind.sense,
            message=why,
        )


@cache
def _warm(problem: str) -> None:
    """Solve something tiny, so that loading a solver is not counted as an instance's time."""
    tiny = parse(catalog.TINY[problem])
    catalog.reference(problem)(tiny) if problem in catalog.REFERENCES else solve(tiny)


def _key(options: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(options, order="sorted")


def _blank(task: Task, run: Run, instance: Any, reference: Result) -> Row:
    return Row(
        instance=instance.name,
        problem=str(type(instance).__struct_config__.tag),
        policy=run.policy,
        objective=None,
        reference=reference.objective,
        reference_bound=reference.bound,
        reference_proven=reference.proven,
        gap=None,
        seconds=0.0,
        seed=run.seed,
        violations=(),
        message=None,
        file=task.source.label,
        reference_seconds=reference.seconds.build + reference.seconds.solve,
        reference_formulation=reference.formulation or None,
        reference_solver=reference.solver or None,
        key=run.key,
        options=dict(run.options),
    )


def solutions(task: Task, run: Run) -> tuple[Any, Result, Result]:
    """Return an instance, what a policy gets on it and the reference: rows keep no solutions.

    Raises
    ------
    InputError
        If the instance is not valid, or the policy is not known.
    """
    instance = task.source.load()
    references = _References(instance, task)
    policy = composing.policy(references.problem, run.policy, task.constraints)
    for _ in references.prepare(policy, run.options):
        pass
    return instance, _evaluated(task, run, instance), references.of(policy, run.options)


def _evaluated(task: Task, run: Run, instance: Any) -> Result:
    problem = str(type(instance).__struct_config__.tag)
    known = composing.policy(problem, run.policy).options
    return evaluate(
        instance,
        run.policy,
        options={k: v for k, v in run.options.items() if k in known},
        seed=run.seed,
        constraints=task.constraints,
    )


def _row(task: Task, run: Run, instance: Any, reference: Result) -> Row:
    result = _evaluated(task, run, instance)
    notes = [str(found.message) for found in (result, _ended(reference)) if found and found.message]
    return msgspec.structs.replace(
        _blank(task, run, instance, reference),
        objective=result.objective,
        confidence=result.confidence or None,
        gap=shortfall(result, reference),
        seconds=result.seconds.solve,
        violations=result.violations,
        termination=result.termination,
        message="; ".join(notes) or None,
    )


def _ended(reference: Result) -> Result | None:
    """Return a reference that was given up, whose message its rows must say."""
    given_up = reference.solution_status == "none" and reference.termination == "time-limit"
    return reference if given_up else None


def shortfall(result: Result, reference: Result) -> float | None:
    """Return how far a policy falls short of a reference, as a fraction of the reference.

    None where one of them has no objective, and where the policy breaks something or answers
    another question: rectangles may well have less overhead than any epochs. Not below 0
    where the reference is proven: what remains there is rounding.
    """
    if result.objective is None or reference.objective is None or result.violations:
        return None
    if hasattr(result.solution, "rectangles") and hasattr(reference.solution, "epochs"):
        return None  # what reallocates nodes at other times answers another question
    short = reference.objective - result.objective
    if reference.sense == "minimize":
        short = -short
    gap = short / max(1e-10, abs(reference.objective))
    return max(0.0, gap) if reference.proven else gap
