"""Selections that rounding could spoil: what is claimed of them holds in rationals."""

from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pyomo.environ as pyo
import pytest
from builders.dssp import best_exactly, delicate, written
from builders.effort import tried
from hypothesis import strategies as st

from schedopt.formulations.dssp.selection import Selection
from schedopt.instances.constraints import Apart, Constraint, FairShare, Forbid, Resource
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.solvers.mip import Answer, MatrixRun
from schedopt.solvers.priced_core.search import PricedCoreSearch
from schedopt.solvers.result import Limits, Result
from schedopt.validation.documents import check
from schedopt.verbs.evaluate import evaluate
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


def test_row_bound_far_below_its_coefficients_is_infeasible_and_does_not_overflow() -> None:
    share = {"a": 0.9, "b": 0.028044752315400268}
    rule = FairShare(by="team", of="selected", at_most=share, past={"a": 18.24, "b": 18.251})
    result = solve(night(2, [(0, 0.0005, "c"), (0, 7e-06, "b")], rule))
    assert (result.termination, result.conflict) == ("infeasible", ("fair-share[0]",))


def test_selection_ignores_an_unproven_infeasible_status(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, right = CASES[ONE]
    false = Answer("infeasible", None, None)
    monkeypatch.setattr("schedopt.solvers.mip.highs.Highs.run", lambda *_: false)
    result = solve(instance, solver="highs")
    assert result.proven and worth(instance, result) == right


def test_infeasible_status_of_a_changed_model_is_confirmed_without_presolve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from schedopt.solvers.mip.highs import Highs

    model = Selection(night(3, [(1, 1, "a"), (2, 1, "a")]))
    model.model.mine = pyo.Constraint(expr=model.model.x["j0"] == 0)
    run = Highs.run
    false = Answer("infeasible", None, None)

    def wrong(self: Highs, asked: MatrixRun, limits: Limits, start: Any, presolve: bool) -> Answer:
        return false if presolve else run(self, asked, limits, start, presolve)

    monkeypatch.setattr(Highs, "run", wrong)
    result = solve(model)
    assert (result.termination, result.objective) == ("optimal", 2)
    assert "not without presolve" in str(result.message)


def test_unproven_selection_is_dispatched_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    jobs = tuple(
        Job(name=f"j{i}", reward=draw.random(), stages=((float(length),),))
        for i, length in enumerate(draw.integers(1, 99, 30))
    )
    farm = Instance(name="farm", processors=3, deadline=200, jobs=jobs)
    plain = evaluate(farm, "selection+lcpf")
    assert plain.solution is not None and not plain.message
    monkeypatch.setattr(PricedCoreSearch, "close", lambda *_: None)  # nothing is ever proven
    result = evaluate(farm, "selection+lcpf")
    assert (result.termination, result.objective) == ("completed", plain.objective)
    assert "not proven" in str(result.message)
    assert result.violations == ()
    document = msgspec.json.encode(result.document())
    assert check(farm, msgspec.json.decode(document, type=type(result.document()))).ok
