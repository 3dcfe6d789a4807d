"""CP-SAT's adapter: limits, interruptions, honest bounds; a model as its user has changed it."""

from collections.abc import Callable
from typing import Any

import pytest
from builders.epoch import packing

from schedopt import solve
from schedopt.formulations.cp_sat import WholeModel
from schedopt.formulations.dssp import Schedule
from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.dssp import Instance, Job

# --- what users change ------------------------------------------------------------------------


def partition() -> Partition:
    """Four jobs that fit one epoch of sixteen nodes."""
    return Partition(packing([4, 4, 4, 4], 16, 0))


def rectangles() -> Rectangles:
    """Two jobs that can run side by side."""
    return Rectangles(packing([2, 2], 4, 0))


def schedule() -> Schedule:
    """Two jobs of two hours each on one processor, until five."""
    jobs = tuple(Job(name=name, reward=1.0, stages=((2.0,),)) for name in ("a", "b"))
    return Schedule(Instance(name="night", processors=1, deadline=5.0, jobs=jobs))


ALL: Any = pytest.mark.parametrize("make", [partition, rectangles, schedule])


@ALL
def test_cp_sat_model_is_as_declared_until_changed(make: Callable[[], WholeModel]) -> None:
    model = make()
    assert model.model is model.model
    declared = str(model.model.proto)
    first, second = solve(model, threads=1), solve(model, threads=1)
    named = solve(model, solver="cp-sat", threads=1)
    assert first.proven
    assert first.objective == second.objective == named.objective
    assert str(model.model.proto) == declared
    variables = [model.model.get_int_var_from_proto_index(i) for i in range(2)]
    model.model.add_hint(variables[0], 1)
    assert not model.changed
    assert not model.goal_changed
    model.model.add(variables[0] + variables[1] <= 10**6)
    assert model.changed
    assert not model.goal_changed
    model.model.minimize(variables[0])
    assert model.goal_changed


@ALL
def test_cp_sat_proves_the_changed_model(make: Callable[[], WholeModel]) -> None:
    model = make()
    model.model.add(model.model.get_int_var_from_proto_index(0) >= 10**6)
    result = solve(model, threads=1)
    assert (result.termination, result.solution, result.conflict) == ("infeasible", None, ())


def test_cp_sat_optimizes_a_changed_objective_without_a_bound() -> None:
    model = partition()
    model.model.maximize(sum(model.x[name, name] for name in ("j1", "j2", "j3", "j4")))
    result = solve(model, threads=1)
    assert (result.objective, result.bound, result.gap) == (64, None, None)
    assert (result.termination, result.solution_status) == ("optimal", "feasible")
    assert "own objective was optimized, not the instance's: it is 4" in str(result.message)
    night = schedule()
    night.model.minimize(sum(night.x.values()))
    result = solve(night, threads=1)
    assert (result.objective, result.bound, result.solver) == (0, None, "model")
    night.model.clear_objective()
    assert "no objective" in str(solve(night, threads=1).message)


def three_jobs(billions: int) -> Instance:
    """Return one processor that has room for the two best of three jobs, to the unit."""
    lengths = (3 * billions * 10**9, 5 * billions * 10**9 + 1, 1)
    return Instance(
        name="billions",
        processors=1,
        deadline=8 * billions * 10**9 + 1,
        jobs=tuple(
            Job(name=name, reward=reward, stages=((length,),))
            for name, reward, length in zip("abc", (3, 4, 1), lengths, strict=True)
        ),
    )


@pytest.mark.parametrize("solver", ["cp-sat", "model"])
def test_schedule_of_integers_of_ten_digits_is_exact(solver: str) -> None:
    result = solve(three_jobs(1), formulation="schedule", solver=solver, threads=1)
    assert (result.termination, result.objective, result.bound) == ("optimal", 7, 7)


@pytest.mark.parametrize("solver", ["cp-sat", "model"])
def test_schedule_on_a_rounded_grid_is_not_optimal(solver: str) -> None:
    result = solve(three_jobs(100), formulation="schedule", solver=solver, threads=1)
    assert (result.termination, result.solution_status) == ("completed", "feasible")
    assert (result.objective, result.bound) == (5, None)
    assert "rounds lengths up" in str(result.message)
