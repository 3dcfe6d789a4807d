"""A sweep: which policies run on which instances how, and which rows that makes."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from schedopt import __version__
from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, listing, shown, suggestion
from schedopt.instances.files import PROBLEMS
from schedopt.instances.naming import pick
from schedopt.instances.options import Options, checked
from schedopt.policies import from_file
from schedopt.policies.from_file import PolicyFile
from schedopt.policies.registry import Policy
from schedopt.problems import problem as record_of

Names = Sequence[str]


@dataclass(frozen=True)
class Sweep:
    """The work of a sweep on each instance."""

    # Names, of whichever problem they are; or names for each problem. None, and a problem that is
    # left out: all of the problem.
    policies: Names | Mapping[str, Names] | None = None
    # For policies that draw random numbers; the others run once, with the first.
    seeds: tuple[int, ...] = (0,)
    # Policies and the formulation take those that they know. A list is several values, each to be
    # tried; under a problem's name, options for that problem alone.
    options: Options = field(default_factory=dict)
    # Side constraints beyond the instances' own, for all of them or by problem.
    constraints: Sequence[Constraint] | Mapping[str, Sequence[Constraint]] = ()
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
    settings: tuple[Options, ...]  # every combination of the options' values
    constraints: tuple[Constraint, ...]


def problem_plans(sweep: Sweep, problems: Iterable[str]) -> dict[str, ProblemPlan]:
    """Return what a sweep means for each of the problems that its instances are of."""
    problems = list(problems)
    for seed in sweep.seeds:
        if not 0 <= seed < 2**31:
            expected = "a whole number from 0 to 2^31 - 1"
            raise InputError(expected, found=shown(seed), place="seeds")
    for given in (sweep.policies, sweep.constraints):
        for problem in given if isinstance(given, Mapping) else ():
            record_of(problem)
    chosen = {problem: _policies(sweep, problem, problems) for problem in problems}
    settings = _settings(sweep.options, chosen)
    rules = sweep.constraints
    return {
        problem: ProblemPlan(
            policies=tuple(chosen[problem]),
            settings=settings[problem],
            constraints=tuple(rules.get(problem, ()) if isinstance(rules, Mapping) else rules),
        )
        for problem in problems
    }


def _policies(sweep: Sweep, problem: str, problems: Sequence[str]) -> list[Policy]:
    given = sweep.policies
    if isinstance(given, Mapping):
        for other, names in given.items():  # a slip is one even where no such instance is given
            for name in names:
                record_of(other).policy(name)
        given = given.get(problem)
    elif given:
        given = [name for name in given if _applies(name, problem, problems)]
        if not given:
            known = listing(record_of(problem).policies())
            raise InputError(f"a policy of {problem}{known}, which instances are of", found="none")
    names = given or list(record_of(problem).policies())
    return [record_of(problem).policy(name) for name in dict.fromkeys(names)]


def _applies(name: str, problem: str, problems: Sequence[str]) -> bool:
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


def _known(problem: str, policies: Iterable[Policy]) -> dict[str, Any]:
    known = dict(record_of(problem).formulation().known_options)
    for policy in policies:
        known |= policy.options
    return known


def _settings(
    options: Options, policies: Mapping[str, Sequence[Policy]]
) -> dict[str, tuple[Options, ...]]:
    """Return every combination of option values for each problem, each option known and right."""
    own = {key: value for key, value in options.items() if isinstance(value, Mapping)}
    for problem in own:
        pick(problem, PROBLEMS, "an option, or a problem")
    common = {key: value for key, value in options.items() if key not in own}
    known = {problem: _known(problem, chosen) for problem, chosen in policies.items()}
    everything = {key: option for of in known.values() for key, option in of.items()}
    for key in common:
        if key not in everything:
            checked({key: None}, everything, " or ".join(policies))
    found: dict[str, tuple[Options, ...]] = {}
    for problem, of in known.items():
        mine = {key: value for key, value in common.items() if key in of}
        mine |= dict(own.get(problem, {}))
        values = [list(v) if isinstance(v, list | tuple) else [v] for v in mine.values()]
        settings = [dict(zip(mine, picked, strict=True)) for picked in product(*values)]
        if not settings:
            raise InputError("values to try", found="an empty list", place="options")
        found[problem] = tuple(checked(setting, of, problem) for setting in settings)
    return found


SourceFacts = tuple[str, str, bool]
"""What planning needs of a source: its problem, its digest, and whether it has companion files."""


def runs(label: str, of_source: SourceFacts, sweep: Sweep, of: ProblemPlan) -> list[PlannedRun]:
    """Return the runs that an instance contributes: by policy, then options, then seed."""
    problem, digest, beside = of_source
    told: list[Any] = [label, digest, __version__, of.constraints, sweep.time_limit, sweep.seeds[0]]
    if sweep.certificate:
        told.append("certificate")
    common = hashlib.sha256(to_json(told, order="sorted"))
    record = record_of(problem)
    found: dict[str, PlannedRun] = {}
    for policy in of.policies:
        formulation = record.measured_by(policy)
        texts = from_file.digests_of(policy.name, problem)
        for setting in of.settings:
            relevant = {k: v for k, v in setting.items() if k in policy.options or k in formulation}
            for seed in sweep.seeds if policy.draws(relevant, beside) else sweep.seeds[:1]:
                mark = common.copy()
                mark.update(to_json([policy.name, seed, relevant], order="sorted"))
                mark.update(to_json(texts) if texts else b"")
                key = mark.hexdigest()[:20]
                found[key] = PlannedRun(key, policy.name, seed, relevant)
    return list(found.values())
