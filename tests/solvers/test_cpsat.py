"""CP-SAT's adapter: limits, interruptions, honest bounds, the same answer from one worker."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

import pytest

from schedopt import evaluate
from schedopt.formulations.dssp import Schedule
from schedopt.instances.dssp import Instance
from schedopt.instances.files import load
from schedopt.solvers import Limits, cpsat
from schedopt.validation.documents import check
from schedopt.verbs.generate import generate


@pytest.fixture(scope="module")
def night() -> Instance:
    loaded = load("instances/dssp/night.json.gz")
    assert isinstance(loaded, Instance)
    return loaded


def test_interruption_keeps_the_start(night: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Schedule(night)
    start = model.adopt(evaluate(night, "selection+lcpf", options={"fill": 0.94}).solution)
    in_thread = cpsat._Run.in_thread

    def interrupted(run: cpsat._Run, work: Callable[[], None], stop: Callable[[], None]) -> None:
        def begun() -> None:
            threading.Timer(0.5, _thread.interrupt_main).start()
            work()

        in_thread(run, begun, stop)

    monkeypatch.setattr(cpsat._Run, "in_thread", interrupted)
    result = cpsat.solve(model, Limits(threads=1), hint=start, bound=10_550.0)
    assert result.termination == "interrupted"
    assert check(night, result.document()).ok
    assert night.objective_of(start) <= result.objective <= result.bound <= 10_550


def test_no_time_and_no_start_is_no_solution_and_the_bound_that_was_given(night: Instance) -> None:
    result = cpsat.solve(Schedule(night), Limits(time_limit=0.0), bound=10_550.0)
    assert (result.termination, result.solution_status) == ("time-limit", "none")
    assert (result.objective, result.bound, result.gap) == (None, 10_550, None)
    assert cpsat.solve(Schedule(night), Limits(time_limit=0.0)).bound is None


def test_one_worker_gives_the_same_answer_each_time() -> None:
    small = generate("dssp", "matching", seed=4)
    first, second = (cpsat.solve(Schedule(small), Limits(threads=1, seed=3)) for _ in range(2))
    assert first.solution == second.solution
    assert first.options["deterministic"] is True
    assert first.proven


def test_the_trace_narrows_and_ends_with_the_result() -> None:
    small = generate("dssp", "matching", seed=4)
    result = cpsat.solve(Schedule(small), Limits(threads=1))
    best = [row[1] for row in result.trace if row[1] is not None]
    bounds = [row[2] for row in result.trace if row[2] is not None]
    assert best == sorted(best)
    assert bounds == sorted(bounds, reverse=True)
    assert result.trace[-1][1:] == (result.objective, result.bound)


def test_a_gap_that_is_good_enough_is_not_called_optimal_unless_it_is() -> None:
    small = generate("dssp", "matching", seed=4)
    result = cpsat.solve(Schedule(small), Limits(threads=1, gap=0.9))
    assert result.proven is (result.gap == 0.0)
