"""What users change in the program of an allocation is solved as it stands, or refused by name."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import pytest
from builders.hesrpt import cluster

import schedopt
from schedopt.formulations.constraints import Shares
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Power

TWO = cluster([2, 1], Power(p=0.5))


def test_the_program_is_one_and_what_is_appended_to_it_is_kept() -> None:
    model = Allocation(TWO, order=["j1", "j0"])
    assert model.model is model.model
    assert not model.changed
    free = schedopt.solve(model)
    model.model.constraints.append(model.completion["j1"] >= 0.4)
    assert model.changed and not model.goal_changed
    result = schedopt.solve(model)
    assert (result.found_by, result.bound, result.checked) == ("model", None, False)
    assert result.solution.completion["j1"] >= 0.4 - 1e-6
    assert free.objective is not None and result.objective is not None
    assert result.objective > free.objective * 1.001


def test_what_is_declared_later_is_no_change() -> None:
    model = Allocation(TWO)
    held = model.model
    model.add(Shares(jobs=("j0",), at_least=0.6, name="floor"))
    assert model.model is held and not model.changed
    assert len(model.side()["floor"]) == 2
    result = schedopt.solve(model)
    assert result.proven and result.found_by != "model"
    held.constraints.append(model.completion["j0"] <= 0.9)
    model.add(Shares(jobs=("j1",), at_least=0.1, name="other"))
    assert model.changed and list(model.side()) == ["floor", "other", "native constraints"]


def test_an_objective_of_ones_own_is_optimized_and_bounds_nothing() -> None:
    model = Allocation(TWO, order=["j1", "j0"])
    model.model.objective = cp.Minimize(model.completion["j0"] + 0.0 * model.completion["j1"])
    assert model.goal_changed
    result = schedopt.solve(model)
    assert (result.termination, result.solution_status) == ("optimal", "feasible")
    assert (result.bound, result.gap) == (None, None)
    assert "own objective was optimized: 0.7071" in str(result.message)  # 5^0.5 / 10^0.5
    assert result.solution is not None
    assert result.objective == TWO.objective_of(result.solution)


def test_another_problem_in_its_place_is_solved() -> None:
    model = Allocation(TWO)
    model.model = cp.Problem(
        model.model.objective, [*model.model.constraints, model.completion["j0"] >= 1.0]
    )
    result = schedopt.solve(model)
    assert result.found_by == "model" and result.bound is None
    assert result.solution is not None and result.solution.completion["j0"] >= 1.0 - 1e-6
    again = Allocation(TWO)
    again.model = cp.Problem(again.model.objective, again.model.constraints)
    assert not again.changed


def test_a_row_that_is_taken_out_is_a_change() -> None:
    model = Allocation(TWO).add(Shares(jobs=("j0",), at_most=0.3, name="cap"))
    for row in model.side()["cap"]:
        model.model.constraints.remove(row)
    assert model.changed
    free, result = schedopt.solve(TWO), schedopt.solve(model)
    assert result.objective == pytest.approx(free.objective, rel=1e-6)
    assert "cap" in " ".join(result.violations)  # which the checker goes by


def test_native_constraints_that_cannot_hold_are_named_with_the_rule_they_break() -> None:
    model = Allocation(TWO).add(Shares(jobs=("j0",), at_most=0.3, name="cap"))
    model.add(Shares(jobs=("j1",), at_most=0.9, name="idle"))
    model.model.constraints.append(model.completion["j0"] <= 0.8)
    result = schedopt.solve(model)
    assert (result.termination, result.conflict) == ("infeasible", ("cap", "native constraints"))


def _curved(model: Allocation) -> None:
    model.model.constraints.append(cp.sqrt(model.time[0]) <= 0.1)


def _whole(model: Allocation) -> None:
    model.model.constraints.append(model.time[0] >= cp.Variable(boolean=True))


def _unset(model: Allocation) -> None:
    model.model.constraints.append(model.time[0] >= cp.Parameter())


def _foreign(model: Allocation) -> None:
    x = cp.Variable()
    model.model = cp.Problem(cp.Minimize(x), [x >= 1])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_curved, "DCP"),
        (_whole, "boolean"),
        (_unset, "parameter without a value"),
        (_foreign, "own variables"),
    ],
)
def test_what_cannot_be_solved_is_refused_by_name(
    change: Callable[[Allocation], None], says: str
) -> None:
    model = Allocation(TWO)
    change(model)
    with pytest.raises(InputError, match=says):
        schedopt.solve(model)


@pytest.mark.parametrize("solver", ["prices", "tree", "closed-form", "makespan"])
def test_engines_of_our_own_take_no_changed_program(solver: str) -> None:
    model: Any = Allocation(TWO)
    model.model.constraints.append(model.completion["j0"] <= 2.0)
    with pytest.raises(InputError, match="native"):
        schedopt.solve(model, solver=solver)
