"""Allocations: optima, the native program and its changes, side constraints."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest
from builders.effort import tried
from builders.hesrpt import cluster, common

import schedopt
from schedopt.formulations.constraints import Shares
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Instance, Power
from schedopt.policies.hesrpt.simulator import hesrpt_total


@tried(60, common())
def test_closed_form_equals_theorem_8(instance: Instance) -> None:
    speedup = instance.speedup
    assert isinstance(speedup, Power)
    paper = hesrpt_total(instance.sizes, speedup.p, instance.servers)
    result = schedopt.solve(instance)
    assert result.proven and result.bound == pytest.approx(paper, rel=1e-10)


@tried(20, common(5))
def test_interior_point_result_beyond_its_precision_is_not_optimal(instance: Instance) -> None:
    best = schedopt.solve(instance).bound
    result = schedopt.solve(instance, solver="model")
    assert result.violations == ()
    assert result.objective >= best * (1 - 1e-9)
    assert not result.proven or result.objective == pytest.approx(best, rel=2e-6)


@pytest.mark.parametrize(("jobs", "alike"), [(20, True), (13, False)])
def test_weighted_and_unlike_jobs_are_proven_over_all_orders(jobs: int, alike: bool) -> None:
    random = np.random.default_rng(1)
    x, w = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs)
    own = [None if alike else Power(p=round(p, 3)) for p in random.uniform(0.2, 0.95, jobs)]
    instance = cluster(x, Power(p=0.4), 100, weights=w, own=own, objective="weighted-flow-time")
    result = schedopt.solve(instance)
    assert result.proven and result.solution.certified == "all" and result.violations == ()


@pytest.mark.parametrize(
    ("order", "says"), [("j0", "names of all jobs"), ("j0,j9", "name of a job"), ("j0,j0", "names")]
)
def test_allocation_refuses_an_invalid_order(order: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Allocation(cluster([1, 2], Power(p=0.5)), order=order)


TWO = cluster([2, 1], Power(p=0.5))


def test_solve_keeps_constraints_appended_to_the_allocation_model() -> None:
    model = Allocation(TWO, order=["j1", "j0"])
    assert model.model is model.model
    assert not model.changed
    free = schedopt.solve(model)
    model.model.constraints.append(model.completion["j1"] >= 0.4)
    assert model.changed and not model.goal_changed
    result = schedopt.solve(model)
    assert (result.found_by, result.bound, result.checked) == ("model", None, False)
    assert result.solution.completion["j1"] >= 0.4 - 1e-6
    assert result.objective > free.objective * 1.001


def test_allocation_model_with_a_changed_objective_has_no_bound() -> None:
    model = Allocation(TWO, order=["j1", "j0"])
    model.model.objective = cp.Minimize(model.completion["j0"] + 0.0 * model.completion["j1"])
    assert model.goal_changed
    result = schedopt.solve(model)
    assert (result.termination, result.solution_status) == ("optimal", "feasible")
    assert (result.bound, result.gap) == (None, None)
    assert "own objective was optimized: 0.7071" in str(result.message)  # 5^0.5 / 10^0.5
    assert result.solution is not None
    assert result.objective == TWO.objective_of(result.solution)


CHANGES: dict[str, Callable[[Allocation], cp.Constraint]] = {
    "DCP": lambda model: cp.sqrt(model.time[0]) <= 0.1,
    "boolean": lambda model: model.time[0] >= cp.Variable(boolean=True),
    "parameter without a value": lambda model: model.time[0] >= cp.Parameter(),
}


@pytest.mark.parametrize("says", [*CHANGES, "own variables"])
def test_allocation_refuses_models_that_it_cannot_solve(says: str) -> None:
    model = Allocation(TWO)
    if says in CHANGES:
        model.model.constraints.append(CHANGES[says](model))
    else:
        x = cp.Variable()
        model.model = cp.Problem(cp.Minimize(x), [x >= 1])
    with pytest.raises(InputError, match=says):
        schedopt.solve(model)


def test_allocation_names_floors_that_cannot_hold() -> None:
    result = schedopt.solve("instances/hesrpt/floors.json")
    assert (result.termination, result.conflict) == ("infeasible", ("a fifth each",))
    nothing = cluster([1, 2], Power(p=0.5))
    stuck = schedopt.solve(nothing, constraints=[Shares(jobs=("j0",), at_most=0.0, name="none")])
    assert stuck.conflict == ("none",)
