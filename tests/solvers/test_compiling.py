"""Kernels: few numbers need no compiler, and compilation is not on a solver's time."""

import sys
import time

import numpy as np
import pytest
from builders.cli import process

import schedopt
from schedopt.solvers import compiling as kernels_of
from schedopt.solvers.clock import compiling, now
from schedopt.solvers.compiling import kernel

pytestmark = pytest.mark.skipif(not kernels_of.COMPILES, reason="numba is not installed")


@kernel(python_up_to=4)
def add_three_to_each(values: np.ndarray) -> int:
    for i in range(values.size):
        values[i] += 3
    return int(values.sum())


def test_kernel_without_numba_refuses_calls_of_many_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels_of, "COMPILES", False)
    assert add_three_to_each(np.zeros(10, np.int64)) == 30
    with pytest.raises(schedopt.MissingExtraError, match="numba"):
        add_three_to_each(np.zeros(kernels_of.MOST_WITHOUT_NUMBA + 1, np.int64))


def test_clock_of_limits_stops_while_a_kernel_compiles() -> None:
    @kernel()
    def double(x: float) -> float:
        return x * 2.0

    before, outer = compiling.seconds(), time.perf_counter()
    ticks, inner = now(), time.perf_counter()
    assert double(3.0) == 6.0
    inner = time.perf_counter() - inner
    ticks, outer = now() - ticks, time.perf_counter() - outer
    spent = compiling.seconds() - before
    assert spent > 0.8 * inner
    assert inner - 1e-6 <= ticks + spent <= outer + 1e-6


SMALL = """
import sys
from random import Random

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.policies.registry import registered

draw = Random(2)
jobs = [
    Job(
        name=f"job {j}",
        reward=draw.randint(1, 99),
        groups={"team": f"team {j % 4}"},
        stages=[[draw.randint(1, 9) / 2 for _ in range(draw.randint(1, 6))] for _ in range(3)],
    )
    for j in range(40)
]
night = Instance(name="small", processors=20, deadline=25.0, jobs=tuple(jobs))
assert 300 < len(night.tasks.lengths) <= 500
cap = schedopt.FairShare(by="team", at_most={"team 0": 0.2, "team 1": 0.3})
assert schedopt.solve(night).solution_status == "optimal"
assert schedopt.solve(night, constraints=[cap]).solution_status == "optimal"
assert schedopt.solve(night, formulation="schedule", time_limit=2).objective > 0
for name in registered("dssp"):
    schedopt.evaluate(night, name)
sys.exit("numba" in sys.modules)
"""


def test_night_of_forty_jobs_and_500_tasks_loads_no_numba() -> None:
    process(sys.executable, "-c", SMALL)
