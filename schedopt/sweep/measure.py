"""The runs of a sweep, and the task on one instance: the reference, and each policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from schedopt import __version__
from schedopt.instances.constraints import Constraint, check_rules
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, listing, quote
from schedopt.instances.files import decode, encode
from schedopt.instances.options import Options, check_options
from schedopt.instances.protocol import AnyInstance
from schedopt.policies import from_file
from schedopt.policies.registry import Policy
from schedopt.problems import Problem, problem_of
from schedopt.problems import problem as record_of
from schedopt.problems.record import ReferenceQuestion
from schedopt.solvers.result import Document, Result, Termination, alarm, with_alarm
from schedopt.solvers.stopping import stopped
from schedopt.sweep.pool import PlannedRun, Task, one_line
from schedopt.sweep.rows import NOTHING, BenchRow
from schedopt.sweep.sources import Source
from schedopt.validation.documents import result_of
from schedopt.verbs.evaluate import evaluate
from schedopt.verbs.solve import solve

# The plan.


@dataclass(frozen=True)
class Sweep:
    """The work of a sweep on each instance."""

    policies: Sequence[str] = ()  # names, of any problem; empty for all policies
    seeds: tuple[int, ...] = (0,)  # of random policies; the others run once, with the first
    options: Options = field(default_factory=dict)  # of policies and formulations that know them
    constraints: tuple[Constraint, ...] = ()  # beyond the instances' own
    time_limit: float | None = None  # seconds for each reference
    certificate: bool = False  # whether the bounds of references are re-proved


ProblemPlan = tuple[list[Policy], Options]
"""The policies and the options of a sweep for one problem."""


def digest_of(*parts: object) -> str:
    """Return a digest of everything that a row depends on, and of this version of schedopt."""
    data = to_json([*parts, __version__], order="sorted")
    return hashlib.sha256(data).hexdigest()[:20]


def problem_plans(sweep: Sweep, problems: Sequence[str]) -> dict[str, ProblemPlan]:
    """Return the policies and options of a sweep for each problem of its instances."""
    for seed in sweep.seeds:
        if not 0 <= seed < 2**31:
            expected = "a whole number from 0 to 2^31 - 1"
            raise InputError(expected, found=quote(seed), parameter="seeds")
    chosen = _choose_policies(sweep.policies, problems)
    known = {
        problem: dict(record_of(problem).formulation().known_options)
        | {key: option for policy in policies for key, option in policy.options.items()}
        for problem, policies in chosen.items()
    }
    every = {key: option for of in known.values() for key, option in of.items()}
    check_options(sweep.options, every, " or ".join(problems))
    return {
        problem: (
            chosen[problem],
            check_options({k: v for k, v in sweep.options.items() if k in of}, of, problem),
        )
        for problem, of in known.items()
    }


def _choose_policies(names: Sequence[str], problems: Sequence[str]) -> dict[str, list[Policy]]:
    """Return the policies of each problem; `InputError` about a name that no problem knows."""
    if not names:
        return {problem: list(record_of(problem).policies().values()) for problem in problems}
    chosen: dict[str, list[Policy]] = {problem: [] for problem in problems}
    for name in dict.fromkeys(names):
        errors = []
        for problem, own in chosen.items():
            try:
                own.append(record_of(problem).policy(name))
            except InputError as error:
                errors.append(error)
        if errors and len(errors) == len(problems):
            raise errors[0]
    for problem, own in chosen.items():
        if not own:
            known = listing(record_of(problem).policies())
            raise InputError(f"a policy of {problem}{known}, which instances are of", found="none")
    return chosen


def runs(source: Source, sweep: Sweep, plan: ProblemPlan) -> tuple[PlannedRun, ...]:
    """Return the runs that an instance contributes: by policy, then seed."""
    common = digest_of(
        *(source.label, source.digest, sweep.constraints, sweep.time_limit, sweep.seeds[0]),
        sweep.certificate,
    )
    record, (policies, options) = record_of(source.problem), plan
    planned: dict[str, PlannedRun] = {}
    for policy in policies:
        suits = ("", "beside" if source.beside else "alone")
        if not sweep.policies and policy.suits not in suits:
            continue  # without names, only policies that suit the instance are run
        formulation = record.measured_by(policy)
        own: dict[str, Any] = {
            k: v for k, v in options.items() if k in policy.options or k in formulation
        }
        texts = from_file.digests_of(policy.name, source.problem)
        for seed in sweep.seeds if policy.random and not source.beside else sweep.seeds[:1]:
            key = digest_of(common, policy.name, seed, own, texts)
            planned[key] = PlannedRun(key, policy.name, seed, own)
    return tuple(planned.values())


# The tasks.


@dataclass(frozen=True, kw_only=True)
class BenchTask(Task):
    """Policies on one instance."""

    source: Source
    sweep: Sweep

    def rows(self) -> Iterator[BenchRow]:
        """Solve each reference once, run the policies, and yield a row for each run."""
        for policies in self.policy_files:
            from_file.load(policies)
        instance, rules = self.source.load(), self.sweep.constraints
        check_rules(instance, rules)
        references = References(instance, self.source, self.sweep)
        for run in self.runs:
            policy = references.record.policy(run.policy, rules)
            reference = references.find(policy, run)
            options = {k: v for k, v in run.options.items() if k in policy.options}
            try:
                result = expect_whole(
                    evaluate(
                        instance, run.policy, options=options, seed=run.seed, constraints=rules
                    )
                )
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  a policy that exits costs its own row alone
                result = references.without_solution("error", one_line(error))
            yield _row(self.label, run, result, reference)


def expect_whole(result: Result) -> Result:
    """Return a result; raise KeyboardInterrupt if it was interrupted."""
    if stopped() or result.termination == "interrupted":
        raise KeyboardInterrupt
    return result


class References:
    """The references of policies on one instance: optima, or bounds."""

    def __init__(self, instance: AnyInstance, source: Source, sweep: Sweep) -> None:
        self._instance, self._sweep = instance, sweep
        self._best_known = source.best_known
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
            result = solve(
                question.instance,
                formulation=question.formulation,
                constraints=self._sweep.constraints if question.ruled else (),
                time_limit=self._sweep.time_limit,
                certificate=self._sweep.certificate,
                threads=1,
                seed=self._sweep.seeds[0],
                options=question.options,
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


def _row(file: str, run: PlannedRun, result: Result, reference: Result) -> BenchRow:
    """Return the row of a run; a result that beats a proven bound is an alarm."""
    record = record_of(result.problem)
    given_up = reference.solution_status == "none" and reference.termination != "not-applicable"
    notes = [result.message, reference.message if given_up else ""]
    gap = None
    if not result.violations and record.comparable(result, reference):
        what = ""
        if result.confidence is msgspec.UNSET and reference.formulation:
            near = getattr(record.formulation(reference.formulation), "tolerance", 0.0)
            # of some formulations the tolerance is an option
            what = alarm(result, reference, near if isinstance(near, float) else 1e-6)
        if what:
            notes.append(what)
            result = with_alarm(result, what)
        else:
            gap = _gap(record, result, reference)
    return BenchRow(
        instance=result.instance,
        problem=result.problem,
        policy=run.policy,
        objective=result.objective,
        reference=reference.objective,
        reference_bound=reference.bound,
        reference_proven=reference.proven,
        bound_checked=reference.bound_checked,
        gap=gap,
        seconds=result.seconds.solve,
        seed=run.seed,
        violations=result.violations,
        message="; ".join(str(note) for note in notes if note) or None,
        file=file,
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
        measures=record.measures(result),
    )


def _gap(record: Problem, result: Result, reference: Result) -> float | None:
    """Return the relative gap of a policy to its reference; None if either has no objective."""
    bounded = reference.formulation in record.from_bounds
    base = reference.bound if bounded else reference.objective
    if result.objective is None or base is None:
        return None
    short = base - result.objective if reference.sense == "maximize" else result.objective - base
    if abs(base) < NOTHING:
        return None if abs(short) > NOTHING else 0.0
    exact = reference.proven and result.confidence is msgspec.UNSET  # samples lie on both sides
    return max(0.0, short / abs(base)) if exact else short / abs(base)
