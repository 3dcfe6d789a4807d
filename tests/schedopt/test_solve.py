"""Solve: second methods confirm, explanations equal enumeration, units change nothing."""

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import run
from builders.dssp import best
from builders.effort import tried
from contract.dssp import some_night, some_rule
from hypothesis import strategies as st

import schedopt
from schedopt import solve
from schedopt.instances import constraints, files
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.instances.files import dump
from schedopt.planning.reasons import reasons
from schedopt.solvers.dssp import selection
from schedopt.solvers.engine import Engine, EngineTask
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, make_result
from schedopt.verbs.plan_table import plan_table
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


def test_confirm_disagreement_is_an_error() -> None:
    result = solve("instances/dssp/constraints.json")
    other = msgspec.structs.replace(result, solver="other", objective=36.0, bound=36.0)
    judged = with_confirmation(result, other)
    assert judged.termination == "error"
    assert not judged.proven
    assert judged.bound is None
    assert "two methods disagree" in str(judged.message)


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
def test_solve_and_plan_raise_an_alarm_when_a_dispatcher_beats_the_bound(tmp_path: Path) -> None:
    for found in (schedopt.solve(NIGHT, formulation="schedule"), schedopt.plan(NIGHT).result):
        assert is_alarm(found, 7.0, "search found", "search proved the bound 0")
    dump(NIGHT, tmp_path / "night.json")
    assert "one of the two is wrong" in run("plan", tmp_path / "night.json", status=1).stdout


@pytest.mark.usefixtures("lying")
def test_bench_raises_an_alarm_when_a_policy_beats_the_bound() -> None:
    for row in schedopt.bench(NIGHT, policies=["core", "lcpf", "greedy"]):
        assert row.termination == "error"
        assert row.objective in (5.0, 7.0)
        assert row.gap is None
        assert f"{row.policy} found" in str(row.message)
        assert "low proved the bound 0" in str(row.message)


# --- explanations ---


def small_night(seed: int) -> Instance:
    draw = Random(seed)  # noqa: S311
    jobs = [
        {
            "name": f"j{j}",
            "reward": draw.randrange(1, 12),
            "demand": draw.randrange(1, 8),
            "critical_path": draw.choice((1, 1, 1, 1, 11)),
            "groups": {"team": ("fx", "light")[j % 2]},
        }
        for j in range(8)
    ]
    rules = [
        {"kind": "fair-share", "name": "cap", "by": "team", "at_most": {"fx": 0.3}},
        {"kind": "apart", "name": "one", "jobs": ["j1", "j3"]},
        {"kind": "forbid", "jobs": ["j5"]},
    ]
    document = {"problem": "dssp", "name": f"n{seed}", "processors": 2, "deadline": 10}
    return files.parse(files.encode({**document, "jobs": jobs, "constraints": rules}))


@pytest.mark.parametrize("seed", range(6))
def test_explain_prices_and_reasons_equal_brute_force(seed: int) -> None:
    instance = small_night(seed)
    result = schedopt.solve(instance, explain=True)
    told: Any = result.explanation
    assert told["unproven"] == 0
    optimum = best(instance)
    assert optimum == result.objective
    for i, price in enumerate(told["rules"]):
        rules = tuple(rule for k, rule in enumerate(instance.constraints) if k != i)
        other = best(msgspec.structs.replace(instance, constraints=rules))
        assert price["cost"] == pytest.approx(other - optimum)
        gained = sum(instance.jobs[instance.index[name]].reward for name in price["gains"])
        lost = sum(instance.jobs[instance.index[name]].reward for name in price["loses"])
        assert gained - lost == pytest.approx(price["cost"])
    out = [job.name for job in instance.jobs if job.name not in result.solution.selected]
    assert [one["job"] for one in told["left_out"]] == out
    for one in told["left_out"]:
        job = instance.jobs[instance.index[one["job"]]]
        asked = best(instance, [schedopt.Require(jobs=(one["job"],))])
        if one["reason"] == "never":
            assert job.critical_path > instance.deadline
        elif asked is None:
            assert one["needed"] is None and one["reason"] in ("rule:forbid[2]", "rule:cap")
        else:
            assert one["needed"] == pytest.approx(optimum - asked + job.reward)
            dearer = msgspec.structs.replace(job, reward=one["needed"] + 1)
            jobs = tuple(dearer if other is job else other for other in instance.jobs)
            again = schedopt.solve(msgspec.structs.replace(instance, jobs=jobs))
            assert job.name in again.solution.selected
    why = {one["job"]: one["reason"] for one in told["left_out"]}
    assert why == {job: str(reason) for job, reason in reasons(instance, result).items()}
    rows = plan_table(instance, result).filter(~pl.col("run"))
    assert dict(zip(rows["job"], rows["reason"], strict=True)) == why


def test_explain_schedule_by_solving_again() -> None:
    """Two jobs of three tasks fill half of the capacity each, but only one of them fits."""
    jobs = tuple(
        Job(name=name, reward=reward, stages=((2.0, 2.0, 2.0),))
        for name, reward in (("a", 5.0), ("b", 3.0))
    )
    night = Instance(name="x", processors=2, deadline=6.0, jobs=jobs)
    cap = constraints.AtMost(name="one", jobs=("a", "b"), count=1)
    told: Any = schedopt.solve(night, formulation="schedule", constraints=cap, explain=True)
    assert told.explanation["rules"][0]["cost"] == 3.0
    (left,) = told.explanation["left_out"]
    assert (left["job"], left["needed"], left["rules"]) == ("b", 5.0, ["one"])
    shorter = msgspec.structs.replace(night, deadline=5.0)
    told = schedopt.solve(shorter, formulation="schedule", explain=True)
    (left,) = told.explanation["left_out"]
    assert (left["job"], left["needed"], left["proven"]) == ("b", 5.0, True)


# --- units ---

MORE_SIXTHS = """name,reward,tasks,deadline
j0,5,1x35m,15m
j1,1,2x5m,1h
j2,3,1x35m; 1x10m,1h
j3,3,1x35m; 3x10m,
j4,1,2x25m,1h
j5,3,2x35m,1h
"""


@pytest.mark.parametrize("unit", ["s", "m", "h", "d"])
@pytest.mark.parametrize(
    ("table", "farm", "optimum"),
    [
        (MORE_SIXTHS, {"processors": 2, "capacity": {"10m": 2}}, 7),
        ("name,reward,tasks\na,5,3599.999s\nb,3,0.001s\n", {"processors": 1}, 8),
    ],
)
def test_plan_proves_the_same_optimum_in_every_unit(
    tmp_path: Path, unit: str, table: str, farm: dict[str, Any], optimum: int
) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(table)
    plan = schedopt.plan(file, until="1h", unit=unit, threads=1, time_limit=None, **farm)
    result = plan.result
    assert (result.termination, result.objective, result.bound) == ("optimal", optimum, optimum)


LENGTHS = {
    "sevenths": lambda draw: draw.randint(1, 30) / draw.choice([3, 6, 7]),
    "doubles": lambda draw: draw.random(),
    "large": lambda draw: float(draw.randint(1, 10**14)),
}


@pytest.mark.parametrize("kind", LENGTHS)
@tried(200, seed=st.integers(0, 2**31))
def test_solve_raises_no_alarm_where_a_deadline_is_a_rounded_sum(kind: str, seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    jobs = [
        [[LENGTHS[kind](draw) for _ in range(draw.randint(1, 2))] for _ in range(2)]
        for _ in range(draw.randint(2, 6))
    ]
    some = jobs[: draw.randint(1, len(jobs))]
    night = Instance(
        name="planted",
        processors=1,
        deadline=sum(length for stages in some for stage in stages for length in stage),
        jobs=tuple(
            Job(name=f"j{i}", reward=draw.randint(1, 5), stages=tuple(map(tuple, stages)))
            for i, stages in enumerate(jobs)
        ),
    )
    result = solve(night, formulation="schedule", certificate=True, threads=1)
    assert (result.termination, result.violations) == ("optimal", ())
    assert result.bound_checked
    assert result.objective >= sum(job.reward for job in night.jobs[: len(some)])
