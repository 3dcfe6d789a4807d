"""A solution that holds and beats what was called proven is an alarm in every verb."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import run

import schedopt
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.instances.files import dump
from schedopt.solvers.alarm import alarm
from schedopt.solvers.dssp import schedule, selection
from schedopt.solvers.engine import Engine, EngineTask
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, make_result

NIGHT = Instance(
    name="night",
    processors=1,
    deadline=4.0,
    jobs=(Job(name="a", reward=5.0, stages=((2.0,),)), Job(name="b", reward=7.0, stages=((3.0,),))),
)


NOTHING = Selected(selected=(), demand=0.0, capacity=4.0, shares={})


def low(model: Any, task: EngineTask) -> Result:
    """Claim that the optimum is 0; of schedules that there are none."""
    none = model.name == "schedule"
    return make_result(
        model,
        Run(task.limits),
        solver="low",
        version="0",
        stopped="infeasible" if none else "optimal",
        solution=None if none else NOTHING,
        bound=None if none else 0.0,
    )


LOW = (Engine("low", solve=f"{__name__}:low", description="anything", proves="nothing"),)


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an engine whose bound is too low in place of those of selections."""
    monkeypatch.setattr(selection, "ENGINES", LOW)


def is_alarm(found: Result, value: float, *names: str) -> bool:
    assert found.termination == "error"
    assert (found.objective, found.bound, found.violations) == (value, None, ())
    assert all(name in str(found.message) for name in (f"worth {value:g}", *names))
    return True


@pytest.mark.usefixtures("lying")
def test_solve_and_plan_see_dispatchers_that_beat_a_bound() -> None:
    for found in (schedopt.solve(NIGHT, formulation="schedule"), schedopt.plan(NIGHT).result):
        assert is_alarm(found, 7.0, "search found", "search proved the bound 0")
    assert schedopt.solve(NIGHT).objective == 0.0  # where nobody is asked, nobody contradicts


@pytest.mark.usefixtures("lying")
def test_bench_sees_policies_that_beat_their_reference() -> None:
    for row in schedopt.bench(NIGHT, policies=["core", "lcpf", "greedy"]):
        assert row.termination == "error"
        assert row.objective in (5.0, 7.0)
        assert row.gap is None
        assert f"{row.policy} found" in str(row.message)
        assert "low proved the bound 0" in str(row.message)


def test_replan_and_solve_see_a_start_that_is_called_impossible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = schedopt.solve(NIGHT, formulation="schedule")
    monkeypatch.setattr(schedule, "ENGINES", LOW)
    for solver in (None, "low"):
        found = schedopt.solve(NIGHT, formulation="schedule", solver=solver, start=old.solution)
        assert found.objective == 7.0
        assert solver is None or is_alarm(found, 7.0, "the start found", "low proved that there is")
    monkeypatch.undo()
    monkeypatch.setattr(selection, "ENGINES", LOW)
    again = schedopt.replan(old, at=0, instance=NIGHT, formulation="schedule")
    assert is_alarm(again.result, 7.0, "search proved the bound 0")


@pytest.mark.usefixtures("lying")
def test_an_alarm_fails_the_command(tmp_path: Path) -> None:
    dump(NIGHT, tmp_path / "night.json")
    done = run("plan", tmp_path / "night.json", status=1)
    assert "one of the two is wrong" in done.stdout


def test_rounding_is_no_alarm() -> None:
    claim = schedopt.solve(NIGHT)
    assert claim.bound == 7.0
    for sense in ("maximize", "minimize"):
        up = 1 if sense == "maximize" else -1
        of = msgspec.structs.replace(claim, sense=sense, found_by="who")
        for by, near, wrong in (
            (0, 0, 0),
            (5e-10, 0, 0),
            (1e-8, 0, 1),
            (1e-8, 1e-6, 0),
            (-1, 0, 0),
        ):
            holder = msgspec.structs.replace(of, objective=7.0 * (1 + up * by))
            assert bool(alarm(holder, of, near)) == wrong
