"""One instance's share of a sweep: the reference once, then each policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Any

import msgspec

from schedopt.instances.constraints import Constraint, check_added
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import MOST_FOUND, InputError, clipped
from schedopt.instances.files import decode, encode, parse
from schedopt.instances.protocol import AnyInstance
from schedopt.policies.from_file import PolicyFile, load
from schedopt.policies.registry import Policy
from schedopt.problems import problem as record_of
from schedopt.problems import problem_of
from schedopt.problems.question import Question
from schedopt.solvers.alarm import alarm, with_alarm
from schedopt.solvers.result import Document, Result, Termination
from schedopt.solvers.stopping import stopped
from schedopt.sweep.plan import PlannedRun
from schedopt.sweep.rows import Row
from schedopt.sweep.sources import Source
from schedopt.validation.documents import result_of
from schedopt.verbs.evaluate import evaluate
from schedopt.verbs.evaluate import warm as warm_policy
from schedopt.verbs.solve import solve

Phase = IntEnum("Phase", ["READING", "REFERENCE", "WARMING", "RUN"])
"""What a task is at with one of its runs; `WARMING` loads and compiles what the run needs."""

Begin = Callable[[int, Phase], None]  # called with the number of a run and the phase that begins


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
    policy_files: tuple[PolicyFile, ...] = ()  # files of policies that are run first
    problem: str = ""  # of which problem the instance was when the sweep was planned
    # Steps not to be tried again: why, and the seconds after which they were ended.
    lost: Mapping[str, tuple[str, float | None]] = field(default_factory=dict)

    def step(self, run: int, phase: Phase) -> str:
        """Return what `lost` calls a step: a run by its key, or the reference it asks for."""
        key = self.runs[run].key
        return f"reference of {key}" if phase is Phase.REFERENCE else key

    def compute(self, rows: list[Any], begin: Begin) -> None:
        """Find the reference of each policy once, run each, and add rows to those given."""
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
        for i, run in enumerate(self.runs):
            policy = references.record.policy(run.policy, self.constraints)
            reference = references.find(i, policy, begin)
            blank = _blank(self, run, instance, reference)
            if run.key in self.lost:
                why, seconds = self.lost[run.key]
                ended = "error" if seconds is None else "time-limit"
                row = msgspec.structs.replace(blank, termination=ended, message=why)
                rows.append(msgspec.structs.replace(row, seconds=seconds or 0.0))
                continue
            try:
                begin(i, Phase.WARMING)
                warm_policy(policy, instance)
                begin(i, Phase.RUN)
                row = _row(blank, _evaluated(self, run, policy, instance), reference)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  a policy that exits costs its own row alone
                row = msgspec.structs.replace(blank, termination="error", message=one_line(error))
            rows.append(row)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an instance."""

    rows: list[Any]  # those of the runs that have ended
    why: str | None = None  # a line that says why there are no others


def compute(task: Task, begin: Begin = lambda run, phase: None) -> Outcome:
    """Compute a task in this very process; whatever fails is said in the outcome."""
    rows: list[Any] = []
    label, why = task.source.label, None
    try:
        task.compute(rows, begin)
    except InputError as error:
        why = str(error)
        why = why if label in why else f"{label}: {why}"
    except Exception as error:  # noqa: BLE001  one instance must not end the others
        why = f"{label}: {one_line(error)}"
    return Outcome(rows=rows, why=why)


def one_line(error: BaseException) -> str:
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

    def find(self, i: int, policy: Policy, begin: Begin = lambda run, phase: None) -> Result:
        """Return the reference of a run, without its bound where that is for others."""
        options = self._task.runs[i].options
        question = self.record.question(self._instance, policy, options, self._task.constraints)
        if question is None:
            return self.none("not-applicable")
        key = _key(question)
        if key not in self._known:
            self._known[key] = self._answer(i, question, begin)
        found = self._known[key]
        if question.bounding:
            return found
        if found.solution_status == "none":
            return msgspec.structs.replace(found, termination="completed")
        return msgspec.structs.replace(found, solution_status="feasible", bound=None, gap=None)

    def _answer(self, i: int, question: Question, begin: Begin) -> Result:
        begin(i, Phase.WARMING)
        warm(self.record.name)
        step = self._task.step(i, Phase.REFERENCE)
        if step in self._task.lost:
            return self.none("error", f"no reference: {self._task.lost[step][0]}")
        begin(i, Phase.REFERENCE)
        try:
            return self._on_record(question) or _solved(question, self._task)
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001  policies are measured without it
            return self.none("error", f"no reference: {one_line(error)}")

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


def _solved(question: Question, task: Task) -> Result:
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
    return expect_whole(result)


def _key(question: Question) -> str:
    """Return a key of a question among others on the same instance."""
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
    return expect_whole(found)


def expect_whole(result: Result) -> Result:
    """Return a result that was found in full: others are left for when the sweep goes on."""
    if stopped() or result.termination == "interrupted":
        raise KeyboardInterrupt
    return result


def _row(blank: Row, result: Result, reference: Result) -> Row:
    notes = [str(found.message) for found in (result, _ended(reference)) if found and found.message]
    if what := _alarm(result, reference):
        result = with_alarm(result, what)
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
