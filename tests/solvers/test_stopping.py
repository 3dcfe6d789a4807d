"""Runs that the caller ends: by `watch`, by an event, by an exception."""

import asyncio
import threading
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from ortools.sat.python import cp_model

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers import cpsat
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import ConflictNotReducedError, smallest_conflict
from schedopt.solvers.result import Limits
from schedopt.solvers.stopping import stoppable_by, stopped


def long_night() -> Instance:
    """A night whose best schedule CP-SAT, with one thread, does not prove within a minute."""
    draw = Random(1)  # noqa: S311

    def stage() -> tuple[int, ...]:
        return (draw.randint(23, 60),) * draw.randint(1, 5)

    jobs = (
        Job(name=f"j{i}", reward=draw.randint(50, 100), stages=(stage(), stage()))
        for i in range(100)
    )
    return Instance(name="long", processors=17, deadline=110, jobs=tuple(jobs))


def solve_long(**options: Any) -> schedopt.Result:
    return schedopt.solve(long_night(), formulation="schedule", solver="cp-sat", **options)


def expect_kept(result: schedopt.Result) -> None:
    assert (result.termination, result.solution_status) == ("interrupted", "feasible")
    assert result.checked and not result.violations


def test_solve_ends_and_keeps_the_incumbent_when_watch_returns_true() -> None:
    calls: list[float | None] = []

    def watch(seconds: float, best: float | None, bound: float | None) -> bool:
        calls.append(best)
        return best is not None

    expect_kept(solve_long(watch=watch))
    assert None not in calls[-1:]


def test_solve_ends_and_keeps_the_incumbent_when_watch_raises() -> None:
    def watch(seconds: float, best: float | None, bound: float | None) -> None:
        if best is not None:
            raise ZeroDivisionError("of mine")

    result = solve_long(watch=watch)
    expect_kept(result)
    assert "watch raised ZeroDivisionError: of mine" in str(result.message)


def test_solve_ends_and_keeps_the_incumbent_when_the_event_is_set() -> None:
    stop = threading.Event()

    def watch(seconds: float, best: float | None, bound: float | None) -> None:
        if best is not None:
            threading.Thread(target=stop.set).start()

    expect_kept(solve_long(watch=watch, stop=stop))
    assert not stopped()


def test_solve_of_another_thread_goes_on_when_one_is_ended() -> None:
    ended = threading.Event()
    ended.set()
    others: list[schedopt.Result] = []
    thread = threading.Thread(target=lambda: others.append(schedopt.solve("example:night")))
    with stoppable_by(ended, None):
        thread.start()
        thread.join()
    assert others[0].termination == "optimal"


def test_solve_ends_when_a_task_of_asyncio_is_cancelled() -> None:
    async def serve() -> schedopt.Result:
        stop, found = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def watch(seconds: float, best: float | None, bound: float | None) -> None:
            if best is not None:
                loop.call_soon_threadsafe(found.set)

        run = asyncio.create_task(asyncio.to_thread(solve_long, watch=watch, stop=stop))
        await found.wait()
        stop.set()
        return await run

    expect_kept(asyncio.run(serve()))


@pytest.mark.parametrize("ending", [{"watch": lambda *_: True}, {"stop": threading.Event()}])
def test_plan_ends_with_a_plan_that_holds(ending: dict[str, Any]) -> None:
    for event in ending.values():
        getattr(event, "set", lambda: None)()
    planned = schedopt.plan(long_night(), **ending)
    assert planned.run is None or not planned.run.violations


def test_conflict_search_of_cpsat_ends_when_the_run_is_ended() -> None:
    """Six equations over 60 binary variables (a market split) take CP-SAT hours."""
    model, asked, draw = cp_model.CpModel(), {}, Random(1)  # noqa: S311
    x = [model.new_bool_var("") for _ in range(60)]
    for i in range(6):
        weights = [draw.randint(1, 99) for _ in x]
        asked[f"row {i}"] = model.new_bool_var("")
        equation = sum(w * v for w, v in zip(weights, x, strict=True)) == sum(weights) // 2
        model.add(equation).only_enforce_if(asked[f"row {i}"])
    formulation: Any = SimpleNamespace(model=model, literals=asked)
    stop = threading.Event()
    stop.set()
    holds = cpsat._conflict_oracle(formulation, Limits(threads=1), now())
    with stoppable_by(stop, None), pytest.raises(ConflictNotReducedError, match="interrupted"):
        smallest_conflict(list(asked), holds)
