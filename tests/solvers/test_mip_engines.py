"""HiGHS and other solvers of the same models: limits, interruption, incumbents, edge cases."""

import _thread
import threading
from random import Random

import pyomo.environ as pyo
import pytest

import schedopt
from schedopt.instances.dssp import Instance
from schedopt.instances.extras import installed
from schedopt.solvers import mip
from schedopt.solvers.mip import engine_of
from schedopt.solvers.result import Limits, gap
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


def many_budgets(jobs: int = 200, budgets: int = 15) -> schedopt.dssp.Instance:
    """A knapsack of many dimensions, which takes a solver of mixed-integer programs hours."""
    random = Random(7)  # noqa: S311
    use = [[random.randrange(100, 1000) for _ in range(jobs)] for _ in range(budgets)]
    worth = [sum(row[j] for row in use) // budgets + random.randrange(100) for j in range(jobs)]
    return schedopt.dssp.Instance(
        name="many-budgets",
        processors=1,
        deadline=1e6,
        jobs=tuple(
            schedopt.dssp.Job(name=f"j{j}", reward=worth[j], demand=1.0, critical_path=1.0)
            for j in range(jobs)
        ),
        constraints=tuple(
            schedopt.Resource(
                name=f"budget-{i}",
                use={f"j{j}": float(row[j]) for j in range(jobs)},
                capacity=sum(row) / 2,
            )
            for i, row in enumerate(use)
        ),
    )


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


@pytest.mark.parametrize("name", ["highs", *HERE])
def test_mip_keeps_the_incumbent_when_interrupted(name: str) -> None:
    seen: list[float] = []

    def interrupt(seconds: float, best: object, bound: object) -> None:
        if best is not None and not seen:
            seen.append(seconds)
            threading.Thread(target=_thread.interrupt_main).start()

    model = schedopt.dssp.Selection(many_budgets())
    result = mip.solve(engine_of(name), model, Limits(time_limit=60, watch=interrupt))
    assert seen
    assert (result.termination, result.solution_status) == ("interrupted", "feasible")
    assert result.objective is not None
