"""A sweep: which policies run on which instances how, and which rows that makes."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from schedopt import __version__
from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, listing, shown, suggestion
from schedopt.instances.options import Options, checked
from schedopt.policies import from_file
from schedopt.policies.from_file import PolicyFile
from schedopt.policies.registry import Policy
from schedopt.problems import problem as record_of


@dataclass(frozen=True)
class Sweep:
    """The work of a sweep on each instance."""

    policies: Sequence[str] = ()  # names, of whichever problem they are; without any, all
    seeds: tuple[int, ...] = (0,)  # for policies that draw; the others run once, with the first
    options: Options = field(default_factory=dict)  # whoever knows one takes it
    constraints: tuple[Constraint, ...] = ()  # beyond the instances' own
    time_limit: float | None = None  # seconds for each reference
    certificate: bool = False  # whether the bounds of references are re-proved
    policy_files: tuple[PolicyFile, ...] = ()  # the user's own files of policies; they are run


@dataclass(frozen=True)
class PlannedRun:
    """One policy on one instance: what becomes one row."""

    key: str  # a digest of all that the row depends on, the instance's contents among it
    policy: str
    seed: int
    options: Options  # those that the policy or its reference knows


@dataclass(frozen=True)
class ProblemPlan:
    """A sweep restricted to one problem."""

    policies: tuple[Policy, ...]
    options: Options


def problem_plans(sweep: Sweep, problems: Iterable[str]) -> dict[str, ProblemPlan]:
    """Return what a sweep means for each of the problems that its instances are of."""
    problems = list(problems)
    for seed in sweep.seeds:
        if not 0 <= seed < 2**31:
            expected = "a whole number from 0 to 2^31 - 1"
            raise InputError(expected, found=shown(seed), place="seeds")
    chosen = {problem: _policies(sweep.policies, problem, problems) for problem in problems}
    known = {
        problem: dict(record_of(problem).formulation().known_options)
        | {key: option for policy in policies for key, option in policy.options.items()}
        for problem, policies in chosen.items()
    }
    everything = {key: option for of in known.values() for key, option in of.items()}
    for key in sweep.options:
        if key not in everything:
            checked({key: None}, everything, " or ".join(problems))
    return {
        problem: ProblemPlan(
            policies=tuple(chosen[problem]),
            options=checked({k: v for k, v in sweep.options.items() if k in of}, of, problem),
        )
        for problem, of in known.items()
    }


def _policies(names: Sequence[str], problem: str, problems: Sequence[str]) -> list[Policy]:
    record = record_of(problem)
    own = [name for name in names if _is_of(name, problem, problems)]
    if names and not own:
        known = listing(record.policies())
        raise InputError(f"a policy of {problem}{known}, which instances are of", found="none")
    return [record.policy(name) for name in dict.fromkeys(own or record.policies())]


def _is_of(name: str, problem: str, problems: Sequence[str]) -> bool:
    """Tell whether a policy is of this problem; raise if it is of none of them."""
    failures = {}
    for other in problems:
        try:
            record_of(other).policy(name)
        except InputError as error:
            failures[other] = error
    if len(failures) < len(problems):
        return problem not in failures
    if len(problems) == 1:
        raise failures[problem]
    known = [policy for other in problems for policy in record_of(other).policies()]
    hint = suggestion(name, known) or listing(known)
    raise InputError(f"a policy of {' or '.join(problems)}{hint}", found=shown(name))


SourceFacts = tuple[str, str, bool]
"""What planning needs of a source: its problem, its digest, and whether it has companion files."""


def runs(label: str, facts: SourceFacts, sweep: Sweep, of: ProblemPlan) -> list[PlannedRun]:
    """Return the runs that an instance contributes: by policy, then seed."""
    problem, digest, beside = facts
    told: list[Any] = [label, digest, __version__, sweep.constraints, sweep.time_limit]
    told += [sweep.seeds[0], *(["certificate"] * sweep.certificate)]
    common = hashlib.sha256(to_json(told, order="sorted"))
    record = record_of(problem)
    found: dict[str, PlannedRun] = {}
    for policy in of.policies:
        if not sweep.policies and policy.suits not in ("", "beside" if beside else "alone"):
            continue  # of all of them those that are for such an instance
        formulation = record.measured_by(policy)
        texts = from_file.digests_of(policy.name, problem)
        own = {k: v for k, v in of.options.items() if k in policy.options or k in formulation}
        for seed in sweep.seeds if policy.draws(own, beside) else sweep.seeds[:1]:
            mark = common.copy()
            mark.update(to_json([policy.name, seed, own], order="sorted"))
            mark.update(to_json(texts) if texts else b"")
            key = mark.hexdigest()[:20]
            found[key] = PlannedRun(key, policy.name, seed, own)
    return list(found.values())
