"""Bounds on selections, seasons and schedules are proved where they hold, and nowhere else."""

import copy
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from builders.delicate import delicate
from builders.dssp import best_exactly
from builders.effort import tried
from hypothesis import strategies as st

from schedopt import solve
from schedopt.formulations.constraints import FairShare
from schedopt.formulations.dssp import Season, Selection
from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers.dssp.certificate import certify
from schedopt.solvers.engine import NoCertificateError
from schedopt.solvers.result import Document, Limits, Result
from schedopt.validation.dssp.bound import reprove

BUNDLED = Path("instances/dssp")
Certificate = dict[str, Any]


def proves(night: Instance, result: Result, certificate: Certificate, **changed: Any) -> bool:
    """Return True if the certificate proves the bound of the result with some fields changed."""
    claim: Document = msgspec.structs.replace(result.document(), **changed)
    return reprove(night, night.constraints, certificate, claim) is None


def test_reprove_schedule_by_the_selection_bound() -> None:
    result = solve(BUNDLED / "predictions.json", formulation="schedule", certificate=True)
    assert result.objective == 15  # more than the 11 of what was predicted
    assert result.bound_checked


@pytest.mark.parametrize("nights", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_reprove_season_and_no_lower_bound(seed: int, nights: int) -> None:
    draw = Random(seed)  # noqa: S311
    jobs = tuple(
        Job(name=f"j{i}", reward=draw.randint(1, 9), demand=draw.randint(1, 6), critical_path=1)
        for i in range(9)
    )
    season = Instance(name="season", processors=2, deadline=4, jobs=jobs, nights=nights)
    result = solve(season, formulation="season", certificate=True)
    assert result.proven and result.bound_checked
    assert isinstance(result.certificate, dict)
    lower = (result.objective or 0.0) - 1
    assert not proves(season, result, result.certificate, bound=lower, objective=None)
    model = Season(season)
    with pytest.raises(NoCertificateError, match="a better selection"):
        certify(model, msgspec.structs.replace(result, bound=lower, objective=lower), Limits())


@tried(100, st.integers(0, 10**9))
def test_reprove_near_tie_and_no_lower_bound(seed: int) -> None:
    night = delicate(seed, most=8)
    best = best_exactly(night)
    if best is None:
        return
    model = Selection(night)
    result = solve(model)
    assert result.proven
    certificate = certify(model, result, Limits(), seconds=600.0)
    assert proves(night, result, certificate)
    for bound in (float(best) * (1 - 1e-12), float(best) * 0.7, 0.0, -1.0):
        if Fraction(bound) < best:
            assert not proves(night, result, certificate, bound=bound, objective=None)
            assert not proves(night, result, certificate, bound=bound)


def night_with_tree(seed: int) -> tuple[Instance, Result, Certificate]:
    """Return a night whose certificate has branches."""
    draw = Random(seed)  # noqa: S311
    jobs = tuple(
        Job(
            name=f"j{i}",
            reward=draw.randint(40, 60),
            demand=draw.randint(40, 60),
            critical_path=1,
            groups={"team": draw.choice("ab")},
        )
        for i in range(16)
    )
    rules: Sequence[Constraint] = [FairShare(by="team", at_most={"a": 0.4})]
    night = Instance(name="tree", processors=1, deadline=333, jobs=jobs, constraints=tuple(rules))
    result = solve(night, certificate=True)
    assert isinstance(result.certificate, dict)
    return night, result, result.certificate


def test_reprove_is_exact_beyond_64_bits() -> None:
    night, result, certificate = night_with_tree(1)
    large = copy.deepcopy(certificate)
    for node in [*large["nodes"], large.get("fixing", {})]:
        if "weight" in node:
            node["weight"] = str(int(node["weight"]) << 70)
        if "multipliers" in node:
            node["multipliers"] = [[i, str(int(y) << 70)] for i, y in node["multipliers"]]
    assert proves(night, result, large)
    lower = (result.objective or 0.0) - 1
    assert not proves(night, result, large, bound=lower, objective=None)
