"""The task of a sweep on one instance: the reference, and each policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from schedopt.instances.constraints import check_added
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, printable
from schedopt.instances.files import decode, encode, parse
from schedopt.instances.protocol import AnyInstance
from schedopt.policies.from_file import load
from schedopt.policies.registry import Policy
from schedopt.problems import problem as record_of
from schedopt.problems import problem_of
from schedopt.problems.record import ReferenceQuestion
from schedopt.solvers.alarm import alarm, with_alarm
from schedopt.solvers.result import Document, Result, Termination
from schedopt.solvers.stopping import stopped
from schedopt.sweep.plan import PlannedRun, Sweep
from schedopt.sweep.rows import NOTHING, BenchRow
from schedopt.sweep.sources import Source
from schedopt.validation.documents import result_of
from schedopt.verbs.evaluate import evaluate
from schedopt.verbs.solve import solve


@dataclass(frozen=True)
class Task:
    """The work on one instance."""

    source: Source
    digest: str  # the source's, when the sweep was planned
    runs: tuple[PlannedRun, ...]  # the rows that are wanted
    sweep: Sweep

    def compute(self, rows: list[Any]) -> None:
        """Solve each reference once, run the policies, and append a row for each run."""
        for policies in self.sweep.policy_files:
            load(policies)
        source = self.source.with_contents()
        if source.facts().digest != self.digest:
            expected = "the instance as it was when the sweep began"
            raise InputError(expected, found="other contents", file=source.label)
        instance = source.load()
        check_added(instance, self.sweep.constraints)
        references = References(instance, source, self.sweep)
        for run in self.runs:
            policy = references.record.policy(run.policy, self.sweep.constraints)
            reference = references.find(policy, run)
            try:
                result = self._evaluate(run, policy, instance)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  a policy that exits costs its own row alone
                result = references.without_solution("error", one_line(error))
            rows.append(_row(self, run, result, reference))

    def _evaluate(self, run: PlannedRun, policy: Policy, instance: AnyInstance) -> Result:
        result = evaluate(
            instance,
            run.policy,
            options={k: v for k, v in run.options.items() if k in policy.options},
            seed=run.seed,
            constraints=self.sweep.constraints,
        )
        return expect_whole(result)


class TaskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a task."""

    rows: list[Any]  # of the finished runs
    why: str | None = None  # why the other runs have no rows, in a line


def compute(task: Task) -> TaskOutcome:
    """Compute a task in this process; the outcome contains errors as text."""
    rows: list[Any] = []
    try:
        task.compute(rows)
    except Exception as error:  # noqa: BLE001  one instance must not end the others
        return TaskOutcome(rows=rows, why=one_line(error))
    return TaskOutcome(rows=rows)


def one_line(error: BaseException) -> str:
    """Return an exception as one line."""
    if isinstance(error, InputError):
        return str(error)
    words = printable(str(error))
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def expect_whole(result: Result) -> Result:
    """Return a result; raise KeyboardInterrupt if it was interrupted."""
    if stopped() or result.termination == "interrupted":
        raise KeyboardInterrupt
    return result


class References:
    """The references of policies on one instance: optima, or bounds."""

    def __init__(self, instance: AnyInstance, source: Source, sweep: Sweep) -> None:
        self._instance, self._sweep = instance, sweep
        self._best_known = source.best_known()
        self.record = problem_of(instance)
        self._solved: dict[bytes, Result] = {}

    def find(self, policy: Policy, run: PlannedRun) -> Result:
        """Return the reference of a run, without a bound that does not hold for its policy."""
        constraints = self._sweep.constraints
        question = self.record.question(self._instance, policy, run.options, constraints)
        if question is None:
            return self.without_solution("not-applicable")
        identity = [question.instance.name, question.formulation, question.ruled, question.options]
        key = to_json(identity, order="sorted")
        if key not in self._solved:
            self._solved[key] = self._solve(question)
        reference = self._solved[key]
        if question.bounding:
            return reference
        if reference.solution_status == "none":
            return msgspec.structs.replace(reference, termination="completed")
        return msgspec.structs.replace(reference, solution_status="feasible", bound=None, gap=None)

    def _solve(self, question: ReferenceQuestion) -> Result:
        try:
            if recorded := self._recorded_result(question):
                return recorded
            _warm(self.record.name)
            result = solve(
                question.instance,
                formulation=question.formulation,
                constraints=self._sweep.constraints if question.ruled else (),
                time_limit=self._sweep.time_limit,
                certificate=self._sweep.certificate,
                threads=1,
                seed=self._sweep.seeds[0],
                options=question.options,
                many=True,
            )
            return expect_whole(result)
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001  policies are measured without it
            return self.without_solution("error", f"no reference: {one_line(error)}")

    def _recorded_result(self, question: ReferenceQuestion) -> Result | None:
        """Return the best known result of the source if it answers the question, else None."""
        if self._best_known is None or (question.ruled and self._sweep.constraints):
            return None
        if encode(question.instance) != encode(self._instance):
            return None
        best = result_of(decode(self._best_known, Document))
        formulation = self.record.formulation(question.formulation)
        same = best.formulation == formulation.name and all(
            best.options.get(name, option.default) == question.options.get(name, option.default)
            for name, option in formulation.known_options.items()
        )
        return best if same else None

    def without_solution(self, termination: Termination, why: str = "") -> Result:
        """Return a result without a solution."""
        return Result(
            instance=self._instance.name,
            problem=self.record.name,
            termination=termination,
            solution_status="none",
            sense=self.record.sense,
            message=why or msgspec.UNSET,
        )


@cache
def _warm(problem: str) -> None:
    """Solve a tiny instance, so that measured times do not include the loading of a solver."""
    solve(parse(record_of(problem).tiny), many=True)


def _row(task: Task, run: PlannedRun, result: Result, reference: Result) -> BenchRow:
    """Return the row of a run; a result that beats a proven bound is an alarm."""
    given_up = reference.solution_status == "none" and reference.termination != "not-applicable"
    notes = [result.message, reference.message if given_up else ""]
    bounds = reference
    if what := _alarm(result, reference):
        notes.append(what)
        result = with_alarm(result, what)
        bounds = msgspec.structs.replace(reference, objective=None, bound=None)
    return BenchRow(
        instance=result.instance,
        problem=result.problem,
        policy=run.policy,
        objective=result.objective,
        reference=reference.objective,
        reference_bound=reference.bound,
        reference_proven=reference.proven,
        bound_checked=reference.bound_checked,
        gap=shortfall(result, bounds),
        seconds=result.seconds.solve,
        seed=run.seed,
        violations=result.violations,
        message="; ".join(str(note) for note in notes if note) or None,
        file=task.source.label,
        reference_seconds=reference.seconds.build + reference.seconds.solve,
        reference_formulation=reference.formulation or None,
        reference_solver=reference.solver or None,
        reference_bounded_by=reference.bounded_by or None,
        reference_proved_by=reference.proved_by or None,
        key=run.key,
        options=dict(run.options),
        termination=result.termination,
        confidence=result.confidence or None,
        sampled=result.confidence is not msgspec.UNSET,
        measures=record_of(result.problem).measures(result),
    )


def _alarm(
    result: Result,
    reference: Result,
    *,
    rounding: float = 1e-6,  # of formulations whose tolerance is an option
) -> str:
    """Return a message if a feasible solution beats a proven bound, else an empty text."""
    record = record_of(result.problem)
    sampled = result.confidence is not msgspec.UNSET
    if result.violations or sampled or not reference.formulation:
        return ""
    if not record.comparable(result, reference):
        return ""
    near = getattr(record.formulation(reference.formulation), "tolerance", 0.0)
    return alarm(result, reference, near if isinstance(near, float) else rounding)


def shortfall(result: Result, reference: Result) -> float | None:
    """Return the relative gap of a policy to its reference; None if they are not comparable."""
    record = record_of(result.problem)
    bounded = reference.formulation in record.from_bounds
    base = reference.bound if bounded else reference.objective
    if result.objective is None or base is None or result.violations:
        return None
    if not record.comparable(result, reference):
        return None
    short = base - result.objective if reference.sense == "maximize" else result.objective - base
    if abs(base) < NOTHING:
        return None if abs(short) > NOTHING else 0.0
    exact = reference.proven and result.confidence is msgspec.UNSET  # samples lie on both sides
    return max(0.0, short / abs(base)) if exact else short / abs(base)
