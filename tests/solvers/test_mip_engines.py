"""HiGHS and other solvers of the same models: limits, interruption, incumbents, edge cases."""

import pyomo.environ as pyo
import pytest

import schedopt
from schedopt.instances.dssp import Instance
from schedopt.instances.extras import installed
from schedopt.solvers.result import gap
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve


@pytest.fixture(scope="module")
def hard() -> Instance:
    """A strongly correlated knapsack, which HiGHS does not prove in any reasonable time."""
    instance = generate("dssp", "strongly-correlated", seed=1, options={"jobs": 1000})
    assert isinstance(instance, Instance)
    return instance


def test_mip_gap_ends_the_run_without_optimality(hard: Instance) -> None:
    result = solve(hard, solver="highs", gap=0.05)
    assert result.termination == "optimal"
    assert 0 < result.gap <= 0.05
    assert result.solution_status == "feasible"


HERE = ["scip"] if installed("pyscipopt") else []


@pytest.mark.parametrize("name", HERE)
def test_native_constraints_reach_every_engine(name: str) -> None:
    selection = schedopt.dssp.Selection(schedopt.example("night"))
    first = next(iter(selection.model.x.values()))
    selection.model.mine = pyo.Constraint(expr=first == 0)
    expected, found = (schedopt.solve(selection, solver=solver) for solver in ("highs", name))
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.bound == pytest.approx(found.objective, rel=1e-6)


OPTIMUM = 321958
"""Of `hard`, by the knapsack core."""


@pytest.mark.parametrize("name", ["highs", *HERE])
def test_mip_keeps_the_incumbent_at_a_time_limit(hard: Instance, name: str) -> None:
    result = solve(hard, solver=name, time_limit=0.5)
    assert result.violations == ()
    assert result.objective is None or result.objective <= OPTIMUM
    assert result.bound is None or result.bound >= OPTIMUM  # none before the first LP
    if result.termination == "time-limit":
        assert result.solution_status != "optimal"
    assert result.gap == gap(result.objective, result.bound)
