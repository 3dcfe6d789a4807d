"""The search for schedules: repeated, ruled, ended in time; machines that change."""

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.dssp import a_night
from builders.effort import examples, tried
from builders.refusals import GONE, changed
from contract import dssp as contract
from hypothesis import strategies as st
from judge.nights import FEATURES, drawn
from msgspec import structs

import schedopt
from schedopt import generate, solve
from schedopt.formulations.dssp import Schedule, Season, Selection
from schedopt.instances import files
from schedopt.instances.constraints import FairShare, Require
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.planning import plan_rows
from schedopt.solvers.dssp.greedy import greedy_solution
from schedopt.solvers.dssp.schedule.dispatch_orders import DispatchOrders
from schedopt.solvers.dssp.schedule.dispatch_search import DispatchSearch
from schedopt.validation.dssp.schedule import check
from schedopt.validation.report import Report


def season() -> Instance:
    options = {"processors": 30, "reward": "size"}
    found = generate("dssp", options=options, seed=5)
    assert isinstance(found, Instance)
    return found


def everyone(night: Instance) -> np.ndarray:
    return np.ones(len(night.jobs), dtype=np.bool_)


def test_schedule_search_is_reproducible() -> None:
    night = season()

    def after(moves: int, seed: int) -> tuple[float, list[float]]:
        found = DispatchSearch(DispatchOrders(night), lambda jobs: True, seed, [everyone(night)])
        for _ in range(moves):
            found.move()
        return found.best.worth, np.nan_to_num(found.best.simulated.starts).tolist()

    assert after(60, 1) == after(60, 1)
    assert after(60, 1)[0] > after(20, 1)[0] > after(1, 1)[0] == 0, (
        "nothing of the start is in time"
    )


def test_schedule_is_solved_on_a_machine_that_is_one_named_pool() -> None:
    stages = ((0.2, 0.0, 4.7), (2.4, 0.1, 0.0))
    job = Job(name="a", reward=0.0, stages=stages, pools=("x",))
    night = Instance(
        name="pool", deadline=12.0, jobs=(job,), constraints=(Require(jobs=("a",)),), pools={"x": 1}
    )
    result = solve(Schedule(night), threads=1)
    assert result.solution_status == "optimal"
    assert result.solution.selected == ("a",)


def test_schedule_packing_is_a_valid_schedule() -> None:
    rng = np.random.default_rng(11)
    packed = 0
    for seed in range(examples(60)):
        night = files.parse(drawn(seed, {*FEATURES} - {"deadline"}, most=40))
        free = night.jobs
        trials = DispatchOrders(night)
        assert trials.count > 2
        for order in range(2, trials.count):
            stages = len(night.tasks.longest)
            shift = rng.normal(0.0, 0.2, stages) * night.deadline
            some = trials.able & (rng.random(len(free)) < 0.8)
            earned, _, played = trials.run(some, order, shift if order % 2 else None)
            jobs = np.flatnonzero(earned)
            solution = played.schedule(night, jobs.tolist())
            worth = night.objective_of(solution)
            assert worth == pytest.approx(earned.sum(), rel=1e-12)
            claim = solve(Schedule(night), threads=1, time_limit=0).document()
            report = Report()
            check(night, solution, structs.replace(claim, objective=worth), (), report)
            assert not report.violations
            packed += len(jobs)
    assert packed > examples(100)


@tried(200, seed=st.integers(0, 2**31))
def test_bound_beside_the_greedy_selection_is_not_below_the_optimum(seed: int) -> None:
    model = contract.selection(Random(seed))  # noqa: S311
    best = solve(model, threads=1)
    _, bound = greedy_solution(model)
    if best.objective is not None and bound is not None:
        assert best.objective <= bound * (1 + 1e-12)


def test_packing_fills_the_end_of_a_night() -> None:
    night = files.load("archive:dssp-schedule-open/dssp-schedule-open-05")
    model = Schedule(night)
    result = solve(model, threads=1, time_limit=60)
    assert result.proven
    assert not model._model  # the first schedules meet the bound, which no dispatcher's does


def test_side_constraints_are_kept() -> None:
    night = season()
    groups = night.groups["team"]
    team = next(iter(groups))
    asked = next(job.name for job in night.jobs if night.in_time[night.index[job.name]])
    rules = [
        FairShare(by="team", at_most={team: 0.15}),
        FairShare(name="floors", by="team", at_least=dict.fromkeys(list(groups)[1:3], 0.05)),
        Require(jobs=(asked,)),
    ]
    result = solve(Schedule(night).add(*rules), solver="search", threads=1, time_limit=2)
    assert not result.violations
    assert asked in result.solution.selected
    assert result.objective <= result.bound


# --- what is said -----------------------------------------------------------------------------


POOLED = {"pools": {"cpu": 2}, "processors": GONE}
DOWN = {"down": [{"start": 1, "end": 2, "processors": 1}]}


@pytest.mark.parametrize(
    ("key", "where", "changes"),
    [
        *[(key, "", {key: value}) for key, value in (("capacity", [[4, 3]]), ("end", 9))],
        ("resources", "", {"resources": {"gpu": 1}}),
        ("pools", "", POOLED),
        ("down", "", DOWN),
        ("after", "jobs.0.", {"after": ["b"]}),
        ("max_processors", "jobs.0.", {"max_processors": 1}),
        ("processors", "jobs.0.", {"processors": 2}),
    ],
    ids=str,
)
def test_schedule_search_names_an_unknown_key(
    key: str, where: str, changes: dict[str, Any]
) -> None:
    night = files.parse(changed("dssp", where, changes))
    assert key in night.features
    with pytest.raises(InputError, match=f"`{key}`"):
        Selection(night, fill="guaranteed")
    if key == "after":
        with pytest.raises(InputError, match=f"`{key}`"):
            Season(night)
    assert schedopt.evaluate(night, "maxk").termination == "not-applicable"
    result = schedopt.solve(Selection(night))
    assert result.violations == ()
    assert result.bound == result.objective


def test_plan_has_order_and_clock_times(tmp_path: Path) -> None:
    night = a_night(start="2026-11-22T20:00+01:00", unit="h")
    path = tmp_path / "night.json"
    path.write_bytes(msgspec.json.encode(night))
    result = schedopt.solve(schedopt.load(path), formulation="schedule")
    plan = planned(night, result)
    order = sorted(range(3), key=lambda j: plan["start"][j])
    assert [plan["rank"][j] for j in order] == [1, 2, 3]
    assert plan["rank"][1] > plan["rank"][0]
    b = plan["start"][1]
    hour = int(20 + b) % 24
    assert plan["start_time"][1].startswith(f"2026-11-23T{hour:02d}:")
    assert plan["end_time"][1].endswith("+01:00")
    assert "start_time" not in planned(a_night(), result)


def planned(night: Instance, result: Any, run: Any = None) -> dict[str, list[Any]]:
    return plan_rows.plan(night, result, run or result).columns()


def test_schedule_engines_on_a_changing_machine() -> None:
    draw = Random(5)  # noqa: S311
    jobs = tuple(
        Job(
            name=f"j{j}",
            reward=float(draw.randint(1, 99)),
            demand=float(draw.randint(1, 50)),
            critical_path=1.0,
        )
        for j in range(90)
    )
    night = Instance(name="many", processors=30, deadline=24, jobs=jobs, changes=((6, 60), (12, 5)))
    room = 30 * 6 + 60 * 6 + 5 * 12
    assert night.capacity() == room
    found = {
        name: schedopt.solve(Selection(night), solver=name).objective
        for name in ("columns", "tree", "highs", "model")
    }
    assert len(set(found.values())) == 1
    flat = Instance(name="flat", processors=1, deadline=float(room), jobs=jobs)
    assert schedopt.solve(Selection(flat)).objective == found["highs"]


def test_schedule_cap_binds_late_jobs_too() -> None:
    job = Job(name="a", reward=4, groups={"team": "fx"}, stages=((4.0,),))
    cap = FairShare(by="team", at_most={"fx": 0.0})
    given: dict[str, Any] = {"processors": 2, "deadline": 3, "late": ((0.0, 1.0), (3.0, 0.5))}
    night = Instance(name="late", jobs=(job,), constraints=(cap,), **given)
    result = schedopt.solve(Schedule(night))
    assert (result.objective, result.violations) == (0.0, ())
    free = msgspec.structs.replace(night, constraints=())
    assert schedopt.solve(Schedule(free)).objective > 0


def test_plan_runs_predecessors_and_no_job_that_never_completes() -> None:
    jobs = (
        Job(name="first", reward=1, stages=((3.0,),), deadline=7),
        Job(name="big", reward=9, stages=((2.0, 2.0),)),
        Job(name="second", reward=5, stages=((1.0,),), after=("first",), deadline=9),
    )
    night = Instance(name="plan", processors=1, deadline=9, jobs=jobs)
    result = schedopt.evaluate(night, "reward")
    assert result.objective == 15
    plan = planned(night, result)
    assert plan["run"] == [True, True, True]
    assert plan["rank"] == [2, 1, 3]
    late = (msgspec.structs.replace(jobs[0], deadline=3), *jobs[1:])
    short = msgspec.structs.replace(night, jobs=late, end=7.5)
    chosen = schedopt.solve(Selection(short))
    left = schedopt.evaluate(short, "reward")  # big first: then first is late, and second not run
    assert left.objective == 9
    plan = planned(short, chosen, left)
    assert plan["run"] == [False, True, False]
    assert plan["reason"] == ["late", "", "outbid"]
