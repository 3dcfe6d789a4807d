"""What a user changes in a native model is solved as changed, or refused by name: never ignored."""

import pyomo.environ as pyo
import pytest
from builders.dssp import night
from pyomo.gdp import Disjunction

from schedopt.formulations.dssp import Selection
from schedopt.instances.errors import InputError
from schedopt.verbs.solve import solve


def selection() -> Selection:
    """Three jobs that all fit but the least, of 5, 4 and 3."""
    return Selection(night([(5, 5), (4, 5), (3, 5)], capacity=10))


@pytest.mark.parametrize(
    "part",
    [
        lambda model: pyo.SOSConstraint(var=model.x, sos=1),
        lambda model: Disjunction(expr=[model.x["j0"] == 0, model.x["j1"] == 0]),
        lambda model: pyo.LogicalConstraint(expr=pyo.atmost(1, *_booleans(model))),
    ],
    ids=["SOS", "Disjunction", "LogicalConstraint"],
)
def test_native_model_refuses_untranslatable_parts_by_name(part: object) -> None:
    model = selection()
    model.model.mine = part(model.model)  # type: ignore[operator]
    for solver in (None, "model", "highs"):
        with pytest.raises(InputError, match=r"found (mine|flags), an? \w+"):
            solve(model, solver=solver)


def _booleans(model: pyo.ConcreteModel) -> list[object]:
    model.flags = pyo.BooleanVar(list(model.x))
    return list(model.flags.values())


def test_native_model_is_solved_as_changed() -> None:
    model = selection()
    model.model.mine = pyo.Constraint(expr=model.model.x["j0"] <= 0)
    assert solve(model).objective == 7
    model = selection()
    model.model.x["j1"].setub(0)
    assert solve(model).objective == 8
    model = selection()
    model.model.x["j2"].fix(1)
    assert solve(model).objective == 8
    model = selection()
    model.model.capacity.set_value(100 * model.model.x["j0"] + 5 * model.model.x["j1"] <= 10)
    assert model.changed
    assert solve(model).solution.selected == ("j1", "j2")
    model = selection()
    model.model.capacity.deactivate()
    result = solve(model)
    assert (result.solver, result.solution.selected) == ("model", ("j0", "j1", "j2"))


def test_native_model_with_a_changed_objective_has_no_bound() -> None:
    model = selection()
    model.model.reward.deactivate()
    model.model.fewest = pyo.Objective(expr=sum(model.model.x.values()), sense=pyo.minimize)
    result = solve(model)
    assert (result.solver, result.solution.selected) == ("model", ())
    assert (result.objective, result.bound, result.solution_status) == (0, None, "feasible")
    assert "own objective" in str(result.message)
    other = selection()
    other.model.reward.expr = other.model.x["j2"]
    assert solve(other).solution.selected[-1] == "j2"


def test_values_and_the_objective_of_a_changed_pyomo_model_are_loaded() -> None:
    model = selection()
    native = model.model
    native.slack = pyo.Var(bounds=(0, 5))
    native.three = pyo.Constraint(expr=sum(native.x.values()) >= 3 - native.slack)
    native.reward.expr = native.reward.expr - 10 * native.slack
    result = solve(model)
    assert (result.objective, result.objective_of_model) == (9, pytest.approx(-1))
    assert native.slack.value == pytest.approx(1)
    assert {name: x.value for name, x in native.x.items()} == {"j0": 1, "j1": 1, "j2": 0}
    assert pyo.value(native.reward) == pytest.approx(result.objective_of_model)
    assert result.document().objective_of_model == result.objective_of_model
