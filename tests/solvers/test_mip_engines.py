"""Other solvers of the same models: SCIP, and those that Pyomo finds on the machine."""

import _thread
import threading
from random import Random

import pyomo.environ as pyo
import pytest

import schedopt
from schedopt.instances.errors import InputError
from schedopt.solvers import mip
from schedopt.solvers.mip.named import SOLVERS, engine_of
from schedopt.solvers.result import Limits
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LINEAR = list(SOLVERS)
HERE = [name for name in ("scip", "cbc", "glpk") if SOLVERS[name].available]


@pytest.mark.parametrize("name", HERE)
def test_native_constraints_reach_every_engine(name: str) -> None:
    selection = schedopt.dssp.Selection(schedopt.example("night"))
    first = next(iter(selection.model.x.values()))
    selection.model.mine = pyo.Constraint(expr=first == 0)
    expected, found = (schedopt.solve(selection, solver=solver) for solver in ("highs", name))
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.bound == pytest.approx(found.objective, rel=1e-6)


def hard() -> schedopt.dssp.Instance:
    night = generate("dssp", "strongly-correlated", seed=1, options={"jobs": 1000})
    assert isinstance(night, schedopt.dssp.Instance)
    return night


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


@pytest.mark.parametrize("name", HERE)
def test_a_time_limit_keeps_incumbent_and_bound(name: str) -> None:
    result = solve(hard(), solver=name, time_limit=0.5)
    assert result.violations == ()
    assert result.objective is None or result.objective <= OPTIMUM
    assert result.bound is None or result.bound >= OPTIMUM  # none before the first LP
    if result.termination == "time-limit":  # CBC at times finds the optimum by then
        assert result.solution_status != "optimal"


@pytest.mark.parametrize("name", ["highs", *(name for name in HERE if name == "scip")])
def test_an_interruption_keeps_the_incumbent(name: str) -> None:
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


def test_a_solver_that_is_not_here_is_said_to_be_missing() -> None:
    missing = [name for name in LINEAR if not SOLVERS[name].available]
    for name in missing:
        with pytest.raises(InputError, match=f"solver {name}:.*on this machine"):
            solve(schedopt.example("night"), solver=name)
