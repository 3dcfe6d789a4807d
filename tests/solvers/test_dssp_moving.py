"""Machines that change, jobs that wait and hold: optima against trial of everything."""

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from builders.dssp import a_night
from builders.refusals import GONE, changed

import schedopt
from schedopt.formulations.dssp import Schedule, Season, Selection
from schedopt.instances import files
from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.problems.dssp import planning

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
def test_who_does_not_know_a_key_names_it(key: str, where: str, changes: dict[str, Any]) -> None:
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


def test_a_plan_says_in_which_order_and_when_by_the_clock(tmp_path: Path) -> None:
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
    return planning.plan(night, result, run or result).columns()


def test_many_jobs_by_every_engine_on_a_machine_that_changes() -> None:
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
    model = Selection(night)
    room = 30 * 6 + 60 * 6 + 5 * 12
    assert night.capacity() == room
    found = {
        name: schedopt.solve(Selection(night), solver=name).objective
        for name in ("columns", "tree", "highs", "model")
    }
    assert len(set(found.values())) == 1
    flat = Instance(name="flat", processors=1, deadline=float(room), jobs=jobs)
    assert schedopt.solve(Selection(flat)).objective == found["highs"]
    assert model.plain() is None


def test_a_cap_binds_what_is_run_late_too() -> None:
    job = Job(name="a", reward=4, groups={"team": "fx"}, stages=((4.0,),))
    cap = FairShare(by="team", at_most={"fx": 0.0})
    given: dict[str, Any] = {"processors": 2, "deadline": 3, "late": ((0.0, 1.0), (3.0, 0.5))}
    night = Instance(name="late", jobs=(job,), constraints=(cap,), **given)
    result = schedopt.solve(Schedule(night))
    assert (result.objective, result.violations) == (0.0, ())
    free = msgspec.structs.replace(night, constraints=())
    assert schedopt.solve(Schedule(free)).objective > 0


def test_a_plan_runs_what_others_wait_for_and_not_what_never_completes() -> None:
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
