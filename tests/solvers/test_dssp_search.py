"""The search for schedules: named pools, and nights that are exactly full."""

from schedopt import solve
from schedopt.formulations.dssp import Schedule
from schedopt.instances import files
from schedopt.instances.constraints import Require
from schedopt.instances.dssp import Instance, Job


def test_schedule_is_solved_on_a_machine_that_is_one_named_pool() -> None:
    stages = ((0.2, 0.0, 4.7), (2.4, 0.1, 0.0))
    job = Job(name="a", reward=0.0, stages=stages, pools=("x",))
    night = Instance(
        name="pool", deadline=12.0, jobs=(job,), constraints=(Require(jobs=("a",)),), pools={"x": 1}
    )
    result = solve(Schedule(night), threads=1)
    assert result.solution_status == "optimal"
    assert result.solution.selected == ("a",)


def test_packing_fills_the_end_of_a_night() -> None:
    night = files.load("archive:dssp-schedule-open/dssp-schedule-open-05")
    model = Schedule(night)
    result = solve(model, threads=1, time_limit=60)
    assert result.proven
    assert not model._model  # the first schedules meet the bound, which no dispatcher's does
