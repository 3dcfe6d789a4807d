"""Runs that the caller ends: by `watch`, by an event, by an exception."""

import threading
from random import Random
from typing import Any

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers.stopping import stopped


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
