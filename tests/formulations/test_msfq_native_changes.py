"""What a user changes in a model of msfq is solved as changed, or refused by name."""

from collections.abc import Callable

import pytest
from builders.msfq import at_load

from schedopt import solve
from schedopt.formulations.msfq import ClassPolicy, OptimalPolicy, Threshold
from schedopt.instances.errors import InputError


@pytest.mark.parametrize("method", ["exact", "area"])
def test_a_threshold_that_is_ruled_out_is_not_chosen(method: str) -> None:
    best = solve(at_load(4, 0.6), options={"method": method}).solution
    model = Threshold(at_load(4, 0.6), method=method)  # type: ignore[arg-type]
    model.model.allowed[best.threshold] = False
    expected = min(v for l, v in enumerate(best.curve) if l != best.threshold)
    for solver in (None, "model") if method == "exact" else (None,):
        result = solve(model, solver=solver, certificate=True)
        assert result.objective == pytest.approx(expected, rel=1e-9)
        assert result.violations == ()
        assert result.termination == "optimal"
        assert result.bound is None
        assert "what the model still allows" in str(result.message)
    model.model.allowed[:] = False
    none = solve(model)
    assert none.termination == "infeasible"
    assert none.conflict == ("native constraints",)


def test_other_costs_are_optimized_and_the_objective_stays_the_instances() -> None:
    plain = solve(at_load(2, 0.25), formulation="optimal-policy")
    found = []
    for solver in ("queues", "policy-iteration", "model"):
        model = OptimalPolicy(at_load(2, 0.25))
        model.model.large_cost *= 50.0
        assert model.changed and model.goal_changed
        result = solve(model, solver=solver, certificate=True)
        assert result.violations == ()
        assert result.bound is None and not result.proven
        assert result.termination == "optimal"
        assert "the model's own objective was optimized" in str(result.message)
        found.append(result.objective)
    assert found[1:] == pytest.approx(found[:1] * 2, rel=1e-6)
    assert found[0] > 1.02 * (plain.objective or 0.0)  # large jobs go before small ones


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda model: setattr(model.model, "large_cost", 0.0), "a cost above 0"),
        (
            lambda model: setattr(model.model, "system", model.system._replace(l1=0.1)),
            "another system",
        ),
        (lambda model: setattr(model, "model", object()), "costs alone may be changed"),
    ],
    ids=["free jobs", "another rate", "another process"],
)
def test_what_else_is_changed_in_a_process_is_refused_by_name(
    change: Callable[[OptimalPolicy], None], says: str
) -> None:
    for solver in (None, "policy-iteration", "model"):
        model = OptimalPolicy(at_load(2, 0.3))
        change(model)
        with pytest.raises(InputError, match=says):
            solve(model, solver=solver)


def test_so_it_is_with_several_classes() -> None:
    queue = at_load(4, 0.3)
    model = ClassPolicy(queue, tolerance=0.02, most=20_000)
    assert not model.changed
    model.model.costs[1] *= 10.0
    assert model.goal_changed
    result = solve(model)
    assert result.bound is None
    assert "the model's own objective was optimized" in str(result.message)
    model.model.arrivals[0] *= 2.0
    with pytest.raises(InputError, match="another arrivals"):
        solve(model)
