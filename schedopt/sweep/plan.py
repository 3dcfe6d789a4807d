"""The runs of a sweep: policies, seeds and options on each instance."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from schedopt import __version__
from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, listing, quote, suggestion
from schedopt.instances.options import Options, check_options
from schedopt.policies import from_file
from schedopt.policies.from_file import PolicyFile
from schedopt.policies.registry import Policy
from schedopt.problems import problem as record_of
from schedopt.sweep.sources import SourceFacts


@dataclass(frozen=True)
class Sweep:
    """The work of a sweep on each instance."""

    policies: Sequence[str] = ()  # names, of any problem; empty for all policies
    seeds: tuple[int, ...] = (0,)  # of random policies; the others run once, with the first
    options: Options = field(default_factory=dict)  # of policies and formulations that know them
    constraints: tuple[Constraint, ...] = ()  # beyond the instances' own
    time_limit: float | None = None  # seconds for each reference
    certificate: bool = False  # whether the bounds of references are re-proved
    policy_files: tuple[PolicyFile, ...] = ()  # the user's own files of policies, which are run


@dataclass(frozen=True)
class PlannedRun:
    """One policy on one instance, which becomes a row."""

    key: str  # a digest of everything that the row depends on, such as the instance's contents
    policy: str
    seed: int
    options: Options  # of the policy and its reference


@dataclass(frozen=True)
class ProblemPlan:
    """A sweep restricted to one problem."""

    policies: tuple[Policy, ...]
    options: Options


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
    for key in sweep.options:
        if not any(key in of for of in known.values()):
            every = {key: option for of in known.values() for key, option in of.items()}
            check_options({key: None}, every, " or ".join(problems))
    return {
        problem: ProblemPlan(
            policies=tuple(chosen[problem]),
            options=check_options({k: v for k, v in sweep.options.items() if k in of}, of, problem),
        )
        for problem, of in known.items()
    }


def _choose_policies(names: Sequence[str], problems: Sequence[str]) -> dict[str, list[Policy]]:
    """Return the policies of each problem; `InputError` about an unknown name."""
    policies = {problem: record_of(problem).policies() for problem in problems}
    chosen: dict[str, list[Policy]] = {problem: [] for problem in problems}
    for name in dict.fromkeys(names):
        errors = []
        for problem, own in chosen.items():
            try:
                own.append(record_of(problem).policy(name))
            except InputError as error:
                errors.append(error)
        if len(errors) == len(problems) == 1:
            raise errors[0]
        if errors and len(errors) == len(problems):
            every = [policy for of in policies.values() for policy in of]
            hint = suggestion(name, every) or listing(every)
            raise InputError(f"a policy of {' or '.join(problems)}{hint}", found=quote(name))
    for problem, own in chosen.items():
        if names and not own:
            expected = f"a policy of {problem}{listing(policies[problem])}, which instances are of"
            raise InputError(expected, found="none")
    return {problem: own or list(policies[problem].values()) for problem, own in chosen.items()}


def runs(label: str, facts: SourceFacts, sweep: Sweep, of: ProblemPlan) -> tuple[PlannedRun, ...]:
    """Return the runs that an instance contributes: by policy, then seed."""
    common = digest_of(
        *(label, facts.digest, sweep.constraints, sweep.time_limit, sweep.seeds[0]),
        sweep.certificate,
    )
    record = record_of(facts.problem)
    planned: dict[str, PlannedRun] = {}
    for policy in of.policies:
        suits = ("", "beside" if facts.beside else "alone")
        if not sweep.policies and policy.suits not in suits:
            continue  # without names, only policies that suit the instance are run
        formulation = record.measured_by(policy)
        own: dict[str, Any] = {
            k: v for k, v in of.options.items() if k in policy.options or k in formulation
        }
        texts = from_file.digests_of(policy.name, facts.problem)
        for seed in sweep.seeds if policy.draws(own, facts.beside) else sweep.seeds[:1]:
            key = digest_of(common, policy.name, seed, own, texts)
            planned[key] = PlannedRun(key, policy.name, seed, own)
    return tuple(planned.values())
