"""Selections that rounding could spoil: what is claimed of them holds in rationals."""

from fractions import Fraction
from typing import Any

import pytest
from builders.delicate import delicate
from builders.dssp import best_exactly, written
from builders.effort import tried
from hypothesis import strategies as st

from schedopt.instances.constraints import Apart, Constraint, FairShare, Forbid, Resource
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.solvers.mip import Answer
from schedopt.solvers.result import Result
from schedopt.verbs.solve import solve

Jobs = list[tuple[float, float, str]]
SLACK = Resource(name="c0", use={}, capacity=1)


def night(capacity: float, jobs: Jobs, *rules: Constraint) -> Instance:
    """Build an instance of (reward, demand, team) on one processor."""
    return Instance(
        name="delicate",
        processors=1,
        deadline=capacity,
        jobs=tuple(
            Job(name=f"j{i}", reward=r, demand=d, critical_path=0, groups={"team": team})
            for i, (r, d, team) in enumerate(jobs)
        ),
        constraints=rules,
    )


OVER = [(10.0, 100000001.0, "a"), (1.0, 100000000.1, "a"), (1.0, 100000000.0, "a")]
THREE: Jobs = [(1, 1.0, "a"), (1, 1.000000007, "a"), (1, 1.000000005, "a")]
TINY = FairShare(by="team", at_least={"b": 5.6e-10})
MOST = FairShare(by="team", at_most={"b": 0.7}, of="selected")
APART = Apart(jobs=("j0", "j1"))
ONE = "one job that is worth more than the two that fit"
CASES: dict[str, tuple[Instance, Any]] = {
    ONE: (night(200000000.7, OVER, SLACK), 10),
    "with a reward of a million": (
        night(200000000.7, [(1e6, *OVER[0][1:]), *OVER[1:]], SLACK),
        10**6,
    ),
    "two that overrun by a billionth": (night(2.0000000033, THREE, SLACK), 1),
    "a floor": (night(30, [(1, 8, "b"), (1, 4, "b")], TINY, Forbid(jobs=("j1",))), 1),
    "rewards apart": (night(100, [(1e-5, 1, "a"), (3e8, 1, "b")], MOST, APART), Fraction(1, 10**5)),
}


@pytest.mark.parametrize("name", CASES)
def test_selection_is_optimal_on_regression_instances(name: str) -> None:
    instance, right = CASES[name]
    assert best_exactly(instance) == right
    result = solve(instance)
    assert (result.termination, result.solution_status) == ("optimal", "optimal")
    assert worth(instance, result) == right
    assert result.violations == ()


@tried(60, st.integers(0, 10**9))
def test_selection_claims_hold_in_rationals(seed: int) -> None:
    instance = delicate(seed, most=8)
    result, best = solve(instance), best_exactly(instance)
    assert result.violations == ()
    if result.termination == "infeasible":
        assert best is None
        conflict = frozenset(result.conflict)
        assert best_exactly(instance, conflict) is None
        for name in conflict:
            assert best_exactly(instance, conflict - {name}) is not None
        return
    assert best is not None
    assert result.proven  # so small, nothing is withheld
    assert worth(instance, result) == best
    assert result.bound == result.objective == pytest.approx(float(best), rel=1e-15)


def worth(instance: Instance, result: Result[Selected]) -> Fraction:
    """Return what a selection is worth, in rationals."""
    chosen = set(result.solution.selected)
    return sum((written(job.reward) for job in instance.jobs if job.name in chosen), Fraction(0))


def test_selection_ignores_an_unproven_infeasible_status(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, right = CASES[ONE]
    false = Answer("infeasible", None, None)
    monkeypatch.setattr("schedopt.solvers.mip.highs.Highs.run", lambda *_: false)
    result = solve(instance, solver="highs")
    assert result.proven and worth(instance, result) == right
