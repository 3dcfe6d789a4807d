"""A sweep: which policies run on which instances how, and one instance's share of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from instances.constraints import Constraint
from instances.errors import InputError
from instances.files import parse, problem_of, read_bytes
from instances.options import checked
from schedopt import __version__, catalog, composing
from schedopt.evaluating import evaluate, known_policies
from schedopt.rows import Row
from schedopt.solving import solve
from solvers.result import Result


@dataclass(frozen=True)
class Sweep:
    """What is done with each instance.

    Attributes
    ----------
    policies : tuple of str or None
        Names; None: all of the instance's problem.
    seeds : tuple of int
        For policies that draw random numbers; the others run once, with the first.
    options : mapping
        Policies and the formulation take those that they know.
    constraints : tuple of Constraint
        Side constraints beyond the instances' own.
    time_limit : float or None
        Seconds for each reference.
    """

    policies: tuple[str, ...] | None = None
    seeds: tuple[int, ...] = (0,)
    options: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    time_limit: float | None = None


def instance_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the instance files among paths, folders opened, each file once.

    Raises
    ------
    InputError
        If a path is not there, or nothing is found.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted([*path.glob("*.json"), *path.glob("*.json.gz")])
            found.update(dict.fromkeys(p for p in inside if p.name != "schema.json"))
        elif path.exists():
            found[path] = None
        else:
            raise InputError("a file that exists", found="nothing", file=str(path))
    if not found:
        raise InputError("instance files, or folders that hold some", found="none")
    return list(found)


def keys(file: Path, sweep: Sweep) -> dict[str, tuple[str, int]]:
    """Return the rows that an instance file contributes: their keys, each with policy and seed.

    A key is a digest of all that its row depends on, the file's contents among it, so that a
    changed file, option or release is never mistaken for work already done.

    Raises
    ------
    InputError
        If the file is not an instance, or a policy or an option is not known for its problem.
    """
    data = read_bytes(file)
    problem = problem_of(data, file=str(file))
    policies = known_policies(problem, sweep.policies or catalog.policies(problem), {})
    _check_options(problem, policies, sweep.options)
    common = hashlib.sha256(data)
    common.update(
        msgspec.json.encode(
            [str(file), __version__, sweep.options, sweep.constraints, sweep.time_limit],
            order="sorted",
        )
    )
    rows: dict[str, tuple[str, int]] = {}
    for policy in policies:
        for seed in sweep.seeds if policy.random else sweep.seeds[:1]:
            digest = common.copy()
            digest.update(f"{policy.name} {seed}".encode())
            rows[digest.hexdigest()[:20]] = (policy.name, seed)
    return rows


def _check_options(problem: str, policies: list[Any], options: Mapping[str, Any]) -> None:
    known = dict(catalog.formulation_type(problem).known_options)
    for policy in policies:
        known |= policy.options
    checked(options, known, problem)


def rows(file: Path, sweep: Sweep, wanted: Iterable[str]) -> list[Row]:
    """Compute rows of one instance: the reference once, then each policy that is wanted.

    Raises
    ------
    InputError
        If the file is not a valid instance.
    """
    instance = parse(read_bytes(file), file=str(file))
    plan = keys(file, sweep)
    references = _References(instance, sweep)
    return [_row(file, instance, sweep, references, key=key, run=plan[key]) for key in wanted]


class _References:
    """What policies are measured against: the optimum that bounds them.

    For policies that only choose it is the best choice under the same options; for those whose jobs
    are run it is the best choice in the bounding instance, whatever was planned.
    """

    def __init__(self, instance: Any, sweep: Sweep) -> None:
        self._instance, self._sweep = instance, sweep
        self._problem = str(type(instance).__struct_config__.tag)
        self._kind = catalog.formulation_type(self._problem)

    @cached_property
    def planned(self) -> Result:
        options = self._sweep.options
        own = {k: v for k, v in options.items() if k in self._kind.known_options}
        return self._solved(self._instance, self._sweep.constraints, own)

    @cached_property
    def happening(self) -> Result:
        module = import_module(type(self._instance).__module__.rpartition(".")[0])
        night = module.bounding(self._instance)
        if night is self._instance and not self.planned.options.keys() & self._sweep.options.keys():
            return self.planned
        kept = self._sweep.constraints if night is self._instance else ()
        return self._solved(night, kept, {})

    @cached_property
    def known(self) -> Result:
        """Return what the problem itself names as its reference."""
        options = {k: v for k, v in self._sweep.options.items() if k in self._kind.known_options}
        reference = catalog.reference(self._problem)
        limits = {"constraints": self._sweep.constraints, "time_limit": self._sweep.time_limit}
        return reference(self._instance, options=options, **limits)  # type: ignore[no-any-return]

    def of(self, policy: Any) -> Result:
        if self._problem in catalog.REFERENCES:
            return self.known
        runs = policy.phase in ("dispatch", "both") or "dispatcher" in policy.options
        return self.happening if runs else self.planned

    def _solved(self, instance: Any, constraints: Any, options: Mapping[str, Any]) -> Result:
        return solve(
            instance,
            constraints=constraints,
            time_limit=self._sweep.time_limit,
            threads=1,
            seed=self._sweep.seeds[0],
            options=options,
        )


def solutions(file: Path, sweep: Sweep, policy: str, seed: int) -> tuple[Any, Result, Result]:
    """Return an instance, what a policy gets on it and the reference: rows keep no solutions.

    Raises
    ------
    InputError
        If the file is not a valid instance, or the policy is not known.
    """
    instance = parse(read_bytes(file), file=str(file))
    found = _evaluated(instance, sweep, policy, seed)
    chosen = composing.policy(found.problem, policy)
    return instance, found, _References(instance, sweep).of(chosen)


def _evaluated(instance: Any, sweep: Sweep, name: str, seed: int) -> Result:
    policy = composing.policy(str(type(instance).__struct_config__.tag), name)
    return evaluate(
        instance,
        name,
        options={k: v for k, v in sweep.options.items() if k in policy.options},
        seed=seed,
        constraints=sweep.constraints,
    )


def _row(
    file: Path,
    instance: Any,
    sweep: Sweep,
    references: _References,
    *,
    key: str,
    run: tuple[str, int],
) -> Row:
    name, seed = run
    policy = composing.policy(str(type(instance).__struct_config__.tag), name)
    reference = references.of(policy)
    result = _evaluated(instance, sweep, name, seed)
    return Row(
        instance=result.instance,
        problem=result.problem,
        policy=name,
        objective=result.objective,
        reference=reference.objective,
        reference_bound=reference.bound,
        reference_proven=reference.proven,
        gap=shortfall(result, reference),
        seconds=result.seconds.solve,
        seed=seed,
        violations=result.violations,
        message=None if result.message is msgspec.UNSET else str(result.message),
        file=str(file),
        reference_seconds=reference.seconds.build + reference.seconds.solve,
        reference_formulation=reference.formulation or None,
        reference_solver=reference.solver or None,
        key=key,
    )


def shortfall(result: Result, reference: Result) -> float | None:
    """Return how far a policy falls short of a reference, as a fraction of the reference.

    None where one of them has no objective, and where the policy breaks something or answers
    another question: rectangles may well have less overhead than any epochs. Not below 0
    where the reference is proven: what remains there is rounding.
    """
    if result.objective is None or reference.objective is None or result.violations:
        return None
    if "rectangles" in result.solution and "epochs" in reference.solution:
        return None  # what reallocates nodes at other times answers another question
    short = reference.objective - result.objective
    if reference.sense == "minimize":
        short = -short
    gap = short / max(1e-10, abs(reference.objective))
    return max(0.0, gap) if reference.proven else gap
