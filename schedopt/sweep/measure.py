"""One instance's share of a sweep: the reference once, then each policy, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Generic, TypeAlias

import msgspec

from schedopt.instances.constraints import Constraint, check_added
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import MOST_FOUND, InputError, clipped
from schedopt.instances.files import decode, encode, parse
from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance
from schedopt.policies.from_file import PolicyFile, load
from schedopt.policies.registry import Policy
from schedopt.problems import problem as record_of
from schedopt.problems import problem_of
from schedopt.problems.question import Question
from schedopt.solvers.alarm import alarm, raised
from schedopt.solvers.result import Document, Result, Termination
from schedopt.solvers.stopping import stopped
from schedopt.sweep.journal import Keyed, R
from schedopt.sweep.plan import PlannedRun
from schedopt.sweep.rows import Row
from schedopt.sweep.sources import Source
from schedopt.validation.documents import result_of
from schedopt.verbs.evaluate import evaluate
from schedopt.verbs.evaluate import warm as warm_policy
from schedopt.verbs.solve import solve


@dataclass(frozen=True)
class Task:
    """The work on one instance."""

    source: Source
    digest: str  # the source's, when the sweep was planned
    runs: tuple[PlannedRun, ...]  # the rows that are wanted
    constraints: tuple[Constraint, ...] = ()  # side constraints beyond the instance's own
    time_limit: float | None = None  # seconds for each reference
    certificate: bool = False  # whether the bounds of references are re-proved
    seed: int = 0  # the solver's
    lost: Mapping[str, str] | None = None  # references not to be tried (again), and why
    policy_files: tuple[PolicyFile, ...] = ()  # files of policies that are run first
    problem: str = ""  # of which problem the instance was when the sweep was planned

    made: ClassVar[type[Keyed]] = Row
    """The rows that it makes."""

    def steps(self) -> Iterator[Step[Keyed]]:
        """Find the reference of each policy once, and run each, telling what happens."""
        for policies in self.policy_files:
            load(policies)
        source = self.source.opened()
        if source.digest() != self.digest:
            raise InputError(
                "the instance as it was when the sweep began",
                found="other contents",
                file=source.label,
            )
        instance = source.load()
        check_added(instance, self.constraints)
        references = _References(instance, self)
        for run in self.runs:
            policy = references.record.policy(run.policy, self.constraints)
            yield from references.prepare(policy, run.options)
            reference = references.of(policy, run.options)
            blank = _blank(self, run, instance, reference)
            try:
                yield Begun(row=blank, warming=True)
                warm_policy(policy, instance)
                yield Begun(row=blank)
                row = _row(blank, _evaluated(self, run, policy, instance), reference)
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as error:  # noqa: BLE001  a policy that exits costs its own row alone
                row = msgspec.structs.replace(blank, termination="error", message=said(error))
            yield Done(row)


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """A step begins: a reference by name, or a run, with its row in case it never ends."""

    reference: str | None = None
    row: Row | None = None
    warming: bool = False  # whether what the run needs is only being loaded and compiled yet


class Done(msgspec.Struct, Generic[R], frozen=True, tag="done"):
    """A run has ended: its row."""

    row: R


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The instance cannot be used, and why."""

    why: str


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """All runs have ended."""


Step: TypeAlias = Begun | Done[R] | Failed | Finished


class Outcome(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """The outcome of an instance."""

    rows: list[R]  # those of the runs that have ended
    why: str | None = None  # a line that says why there are no others


def outcome(task: Task) -> Outcome[Keyed]:
    """Do a task in this very process."""
    rows: list[Keyed] = []
    for step in steps(task):
        if isinstance(step, Done):
            rows.append(step.row)
        elif isinstance(step, Failed):
            return Outcome(rows=rows, why=step.why)
    return Outcome(rows=rows)


def steps(task: Task) -> Iterator[Step[Keyed]]:
    """Do a task, and yield its steps; failures are steps too."""
    try:
        yield from task.steps()
    except InputError as error:
        text = str(error)
        label = task.source.label
        yield Failed(text if label in text else f"{label}: {text}")
    except Exception as error:  # noqa: BLE001  one instance must not end the others
        yield Failed(f"{task.source.label}: {said(error)}")
    else:
        yield Finished()


def said(error: BaseException) -> str:
    """Return an exception as one line."""
    if isinstance(error, InputError):
        return str(error)
    words = clipped(str(error), MOST_FOUND)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class _References:
    """The references of policies: the optima that bound them."""

    def __init__(self, instance: AnyInstance, task: Task) -> None:
        self._instance, self._task = instance, task
        self.record = problem_of(instance)
        self._known: dict[str, Result] = {}

    def prepare(self, policy: Policy, options: Options) -> Iterator[Begun]:
        """Find a policy's reference if it is not known yet."""
        question = self._question(policy, options)
        called = _called(question)
        if called in self._known:
            return
        if question is None:
            found = self.none("not-applicable")
        elif called in (self._task.lost or {}):
            found = self.none("error", (self._task.lost or {})[called])
        else:
            warm(self.record.name)
            yield Begun(reference=called)
            try:
                found = self._on_record(question) or _answered(question, self._task)
            except InputError:
                raise
            except Exception as error:  # noqa: BLE001  policies are measured without it
                found = self.none("error", f"no reference: {said(error)}")
        self._known[called] = found

    def of(self, policy: Policy, options: Options) -> Result:
        """Return a policy's known reference, without its bound where that is for others."""
        question = self._question(policy, options)
        found = self._known[_called(question)]
        if question is None or question.bounding:
            return found
        if found.solution_status == "none":
            return msgspec.structs.replace(found, termination="completed")
        return msgspec.structs.replace(found, solution_status="feasible", bound=None, gap=None)

    def _question(self, policy: Policy, options: Options) -> Question | None:
        return self.record.question(self._instance, policy, options, self._task.constraints)

    def _on_record(self, question: Question) -> Result | None:
        """Return the best known result, where the source has one that answers the question."""
        data = self._task.source.known()
        if data is None or (question.ruled and self._task.constraints):
            return None
        if encode(question.instance) != encode(self._instance):
            return None
        best = result_of(decode(data, Document))
        formulation = self.record.formulation(question.formulation)
        if best.formulation != formulation.name:
            return None
        known = formulation.known_options
        for name, option in known.items():
            if best.options.get(name, option.default) != question.options.get(name, option.default):
                return None
        return best

    def none(self, termination: Termination, why: str = "") -> Result:
        """Return the result of what has no solution."""
        return Result(
            instance=self._instance.name,
            problem=self.record.name,
            termination=termination,
            solution_status="none",
            sense=self.record.sense,
            message=why or msgspec.UNSET,
        )


@cache
def warm(problem: str) -> None:
    """Solve something tiny, so that loading a solver is not counted as an instance's time."""
    solve(parse(record_of(problem).tiny), many=True)


def _answered(question: Question, task: Task) -> Result:
    result = solve(
        question.instance,
        formulation=question.formulation,
        constraints=task.constraints if question.ruled else (),
        time_limit=task.time_limit,
        certificate=task.certificate,
        threads=1,
        seed=task.seed,
        options=question.options,
        many=True,
    )
    return uninterrupted(result)


def _called(question: Question | None) -> str:
    """Return a key of a question among others on the same instance."""
    if question is None:
        return "nothing"
    options = to_json(question.options, order="sorted").decode()
    return f"{question.instance.name} {question.formulation or ''} {question.ruled} {options}"


def _blank(task: Task, run: PlannedRun, instance: AnyInstance, reference: Result) -> Row:
    return Row(
        instance=instance.name,
        problem=problem_of(instance).name,
        policy=run.policy,
        objective=None,
        reference=reference.objective,
        reference_bound=reference.bound,
        reference_proven=reference.proven,
        bound_checked=reference.bound_checked,
        gap=None,
        seconds=0.0,
        seed=run.seed,
        violations=(),
        message=None,
        file=task.source.label,
        reference_seconds=reference.seconds.build + reference.seconds.solve,
        reference_formulation=reference.formulation or None,
        reference_solver=reference.solver or None,
        reference_bounded_by=reference.bounded_by or None,
        reference_proved_by=reference.proved_by or None,
        key=run.key,
        options=dict(run.options),
    )


def _evaluated(task: Task, run: PlannedRun, policy: Policy, instance: AnyInstance) -> Result:
    found = evaluate(
        instance,
        run.policy,
        options={k: v for k, v in run.options.items() if k in policy.options},
        seed=run.seed,
        constraints=task.constraints,
    )
    return uninterrupted(found)


def uninterrupted(result: Result) -> Result:
    """Return a result that was found in full: others are left for when the sweep goes on."""
    if stopped() or result.termination == "interrupted":
        raise KeyboardInterrupt
    return result


def _row(blank: Row, result: Result, reference: Result) -> Row:
    notes = [str(found.message) for found in (result, _ended(reference)) if found and found.message]
    if what := _alarm(result, reference):
        result = raised(result, what)
        notes, reference = (
            [*notes, what],
            msgspec.structs.replace(reference, objective=None, bound=None),
        )
    return msgspec.structs.replace(
        blank,
        objective=result.objective,
        confidence=result.confidence or None,
        sampled=result.confidence is not msgspec.UNSET,
        gap=shortfall(result, reference),
        difference=difference(result, reference),
        seconds=result.seconds.solve,
        violations=result.violations,
        measures=record_of(blank.problem).measures(result),
        resampled=tuple(getattr(result.solution, "resampled", ())),
        termination=result.termination,
        message="; ".join(notes) or None,
    )


def _alarm(result: Result, reference: Result) -> str:
    """Say which proven bound a policy's solution beats, where it keeps all rules; mostly none."""
    record = record_of(result.problem)
    sampled = result.confidence is not msgspec.UNSET
    if result.violations or sampled or not reference.formulation:
        return ""
    if not record.comparable(result, reference):
        return ""
    near = getattr(record.formulation(reference.formulation), "tolerance", 0.0)
    return alarm(result, reference, near if isinstance(near, float) else ASKED)


ASKED = 1e-6  # the rounding of formulations whose tolerance is an option


def _ended(reference: Result) -> Result | None:
    """Return the reference if it was given up: rows repeat its message."""
    stopped = reference.termination in ("time-limit", "error")
    given_up = reference.solution_status == "none" and stopped
    return reference if given_up else None


def shortfall(result: Result, reference: Result) -> float | None:
    """Return a policy's relative shortfall from its reference, if they compare."""
    short = _short(result, reference)
    if short is None:
        return None
    by, base = short
    if abs(base) < NOTHING:
        return None if abs(by) > NOTHING else 0.0
    exact = reference.proven and result.confidence is msgspec.UNSET  # samples lie on both sides
    return max(0.0, by / abs(base)) if exact else by / abs(base)


NOTHING = 1e-10  # a reference below this is 0, of which nothing is a fraction


def difference(result: Result, reference: Result) -> float | None:
    """Return a policy's absolute shortfall from a reference of 0; None for others."""
    by, base = _short(result, reference) or (0.0, 0.0)
    return by if abs(base) < NOTHING < abs(by) else None


def _short(result: Result, reference: Result) -> tuple[float, float] | None:
    """Return how far a policy falls short, and of what, where the two can be compared."""
    record = record_of(result.problem)
    bounded = reference.formulation in record.from_bounds
    base = reference.bound if bounded else reference.objective
    if result.objective is None or base is None or result.violations:
        return None
    if not record.comparable(result, reference):
        return None
    short = base - result.objective
    return -short if reference.sense == "minimize" else short, base
