"""The core adapter: the same results as HiGHS, and every way to stop."""

from __future__ import annotations

import numpy as np
import pytest
from builders.dssp import best, night
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedopt.formulations.constraints import Require
from schedopt.formulations.dssp import Selection
from schedopt.instances.errors import InputError
from schedopt.problems.dssp import RECORD
from schedopt.solvers import door
from schedopt.solvers.door import Given
from schedopt.solvers.dssp.selection import FEW
from schedopt.solvers.dssp.selection.knapsack import engine
from schedopt.solvers.result import Limits, Result
from schedopt.verbs.solve import solve


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_core_and_highs_agree_and_both_are_right(jobs: list[tuple[int, int]]) -> None:
    instance = night(jobs)
    results = [solve(instance, solver=solver) for solver in ("core", "highs")]
    assert [r.objective for r in results] == [best(instance)] * 2
    assert all(r.solution_status == "optimal" and not r.violations for r in results)


def test_core_is_the_default_without_side_constraints_and_only_then() -> None:
    few = night([(5, 5), (4, 5), (3, 5)])
    assert solve(few).solver == "tree", "a few jobs need no compiled code"
    many = night([(5 + i % 7, 5 + i % 3) for i in range(FEW + 1)], capacity=40)
    assert solve(many).solver == "core"
    ruled = night([(5, 5), (4, 5), (3, 5)], constraints=[Require(jobs=("j2",))])
    assert solve(ruled).solver == "tree"
    with pytest.raises(InputError, match="no side constraints"):
        solve(ruled, solver="core")


class Scripted:
    """An algorithm that does as it is told: each step raises or improves."""

    exact = True

    def __init__(self, steps: list[object]) -> None:
        self.steps = steps
        self.value, self.bound = 4.0, 10.0

    def __call__(self, *knapsack: object) -> Scripted:
        return self

    def advance(self, seconds: float) -> bool:
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        if step == "done":
            self.bound = self.value
        else:
            self.bound = float(str(step))
        return step == "done"

    def chosen(self) -> NDArray[np.bool_]:
        return np.array([False, True, False])


def run(steps: list[object], limits: Limits | None = None) -> Result:
    selection = Selection(night([(5, 9), (4, 5), (3, 5)]))
    given = Given(limits or Limits(), read=selection.plain())
    return engine.solve(selection, given, start=Scripted(steps))


def test_an_interruption_keeps_what_is_found() -> None:
    result = run([9.0, KeyboardInterrupt()])
    assert (result.termination, result.solution_status) == ("interrupted", "feasible")
    assert (result.objective, result.bound) == (4.0, 9.0)


def test_too_little_memory_is_said() -> None:
    result = run([8.0, MemoryError("3 GiB of states")])
    assert (result.termination, result.solution_status) == ("error", "feasible")
    assert result.message == "3 GiB of states"
    assert result.bound == 8.0


def test_time_limit_and_gap() -> None:
    result = run([8.0, 7.0, 6.0], Limits(time_limit=0.0))
    assert (result.termination, result.bound) == ("time-limit", 8.0)
    result = run([8.0, 4.4, 4.0], Limits(gap=0.2))
    assert (result.termination, result.solution_status) == ("optimal", "feasible")
    assert result.gap == pytest.approx(0.1)


def test_progress_is_watched() -> None:
    seen: list[tuple[float | None, float | None]] = []
    run([8.0, 7.0, "done"], Limits(watch=lambda seconds, best, bound: seen.append((best, bound))))
    assert seen == [(4.0, 8.0), (4.0, 7.0), (4.0, 4.0)]


def test_a_plain_selection_is_confirmed_by_highs() -> None:
    model = Selection(night([(5, 5), (4, 5), (3, 5)]))
    first = door.solve(model, solver="core")
    again = RECORD.confirm(model, first, Limits())
    assert again is not None
    assert (again.solver, again.objective, again.proven) == ("highs", first.objective, True)
    third = RECORD.confirm(model, again, Limits())
    assert third is not None
    assert (third.solver, third.objective, third.proven) == ("cp-sat", first.objective, True)
