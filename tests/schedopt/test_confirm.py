"""Second methods confirm, and what beats a proof is an alarm in every verb."""

from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from builders.cli import run
from builders.dssp import best_exactly, delicate
from builders.effort import tried
from builders.msfq import at_load, one_or_all
from contract.dssp import some_night, some_rule
from hypothesis import strategies as st

import schedopt
from schedopt import generate, solve
from schedopt.formulations.dssp import Selection
from schedopt.formulations.msfq import OptimalPolicy
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.instances.files import dump
from schedopt.solvers import portfolio
from schedopt.solvers.dssp import schedule, selection
from schedopt.solvers.engine import Engine, EngineTask
from schedopt.solvers.result import Limits, Result, alarm
from schedopt.solvers.running import Run, make_result
from schedopt.verbs.solve import with_confirmation


@pytest.mark.parametrize(
    ("example", "second"),
    [
        ("dssp/constraints", "highs"),
        ("dssp/conflict", "highs"),
        ("epoch/fig8", "cp-sat"),
        ("hesrpt/amdahl-twins", "model"),
    ],
)
def test_confirm_names_the_second_engine(example: str, second: str) -> None:
    result = solve(f"instances/{example}.json", confirm=True)
    assert f"confirmed by {second}" in str(result.message)
    assert result.termination in ("optimal", "infeasible")


@tried(25, st.integers(0, 10**6))
def test_confirm_schedule_by_a_second_engine(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night = some_night(draw, staged=True)
    rules = [some_rule(draw, [job.name for job in night.jobs]) for _ in range(draw.randint(0, 2))]
    result = solve(night, formulation="schedule", constraints=rules, confirm=True, threads=1)
    assert "confirmed by cp-sat" in str(result.message) or "confirmed by model" in str(
        result.message
    )
    assert result.termination in ("optimal", "infeasible")


def test_confirm_reports_a_time_limit_of_the_second_engine() -> None:
    night = generate("dssp", seed=1)
    result = solve(night, formulation="schedule", confirm=True, time_limit=0)
    assert "not confirmed: cp-sat: time-limit" in str(result.message)


def test_confirm_threshold_by_its_chain() -> None:
    result = solve(at_load(4, 0.5), confirm=True, certificate=True)
    assert "confirmed by model" in str(result.message)  # as the table of engines says
    assert "no certificate" not in str(result.message)  # it needs none
    assert result.bound_checked


def test_confirm_optimal_policy_by_the_linear_program() -> None:
    result = solve(at_load(2, 0.3), formulation="optimal-policy", confirm=True)
    assert result.proven
    assert "confirmed by model" in str(result.message)
    dearer = one_or_all(2, 0.25, 0.2)  # another question, so two methods disagree
    again = portfolio.confirm(OptimalPolicy(dearer), result, Limits())
    assert with_confirmation(result, again).termination == "error"
    assert portfolio.confirm(OptimalPolicy(at_load(8, 0.5)), result, Limits()) is None  # too large


def test_confirm_disagreement_is_an_error() -> None:
    result = solve("instances/dssp/constraints.json")
    other = msgspec.structs.replace(result, solver="other", objective=36.0, bound=36.0)
    judged = with_confirmation(result, other)
    assert judged.termination == "error"
    assert not judged.proven
    assert judged.bound is None
    assert "two methods disagree" in str(judged.message)


@tried(60, st.integers(0, 10**9))
def test_confirm_selection_reaches_the_exact_optimum(seed: int) -> None:
    night = delicate(seed, most=8)
    best = best_exactly(night)
    found = portfolio.solve(Selection(night), solver="highs")
    second = portfolio.confirm(Selection(night), found, Limits())
    assert second is not None and second.solver in ("scip", "highs", "branch-and-bound")
    found = second
    if best is None:
        assert found.termination == "infeasible"
    else:
        assert found.proven
        reward = {job.name: Fraction(str(job.reward)) for job in night.jobs}
        assert sum((reward[name] for name in found.solution.selected), Fraction(0)) == best


def test_solve_withholds_a_certificate_that_fails_its_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "schedopt.validation.hesrpt.bound.reprove", lambda *given: "a price is missing"
    )
    result = solve("example:twins", certificate=True)
    assert result.proven
    assert result.violations == ()
    assert result.certificate is msgspec.UNSET
    assert "no certificate (bound: a price is missing): the bound is believed" in result.message


NIGHT = Instance(
    name="night",
    processors=1,
    deadline=4.0,
    jobs=(Job(name="a", reward=5.0, stages=((2.0,),)), Job(name="b", reward=7.0, stages=((3.0,),))),
)


NOTHING = Selected(selected=(), demand=0.0, capacity=4.0, shares={})


class Low(Engine):
    """Claim that the optimum is 0; of schedules that there are none."""

    name = "low"
    description = "anything"
    proves = "nothing"

    def solve(self, model: Any, task: EngineTask) -> Result:
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


LOW = (Low(),)


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
def test_solve_and_plan_raise_an_alarm_when_a_dispatcher_beats_the_bound() -> None:
    for found in (schedopt.solve(NIGHT, formulation="schedule"), schedopt.plan(NIGHT).result):
        assert is_alarm(found, 7.0, "search found", "search proved the bound 0")
    assert schedopt.solve(NIGHT).objective == 0.0  # where nobody is asked, nobody contradicts


@pytest.mark.usefixtures("lying")
def test_bench_raises_an_alarm_when_a_policy_beats_the_bound() -> None:
    for row in schedopt.bench(NIGHT, policies=["core", "lcpf", "greedy"]):
        assert row.termination == "error"
        assert row.objective in (5.0, 7.0)
        assert row.gap is None
        assert f"{row.policy} found" in str(row.message)
        assert "low proved the bound 0" in str(row.message)


def test_schedule_raises_an_alarm_when_a_start_beats_the_bound(
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
    again = schedopt.solve(NIGHT, formulation="schedule", start=old.solution)
    assert is_alarm(again, 7.0, "search proved the bound 0")


@pytest.mark.usefixtures("lying")
def test_plan_exits_1_on_an_alarm(tmp_path: Path) -> None:
    dump(NIGHT, tmp_path / "night.json")
    done = run("plan", tmp_path / "night.json", status=1)
    assert "one of the two is wrong" in done.stdout


def test_alarm_ignores_differences_within_rounding() -> None:
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
