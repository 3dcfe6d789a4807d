"""Releases: a schedule as submissions that hold whatever tasks end early."""

from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest
from builders.dssp import carry_out
from builders.effort import tried
from hypothesis import strategies as st

import schedopt
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Down, Instance, Job, Scheduled
from schedopt.planning.release import (
    TaskKey,
    list_schedule,
    releases,
)
from schedopt.policies.dssp.dispatch import schedule_of
from schedopt.policies.dssp.dispatch import simulate as dispatch

TOLERANCE = 1e-6


def a_night(draw: Random) -> tuple[Instance, Scheduled]:
    """Draw a night with wide tasks, licences and a changing machine, and a schedule of it."""
    pools = {"cpu": ((0, 4), (draw.randint(2, 9), 2), (12, 5)), "gpu": 2}
    several, names = draw.random() < 0.3, [f"j{i}" for i in range(draw.randint(1, 7))]
    jobs = tuple(
        Job(
            name=name,
            reward=1,
            stages=tuple(
                tuple(draw.choice((0, 1, 1, 2, 2, 3, 0.7)) for _ in range(draw.randint(1, 8)))
                for _ in range(draw.randint(1, 3))
            ),
            processors=draw.choice((1, 1, 2)),
            release=draw.choice((0, 0, 3)),
            after=(draw.choice(names[:i]),) if i and draw.random() < 0.3 else (),
            holds={"disk": draw.choice((0.5, 1))} if draw.random() < 0.3 else {},
            max_processors=draw.choice((None, None, 2)),
            pools=draw.choice((None, ("cpu",), ("gpu",))) if several else None,
        )
        for i, name in enumerate(names)
    )
    own = {"pools": pools} if several else {"processors": draw.randint(2, 6)}
    if not several and draw.random() < 0.5:
        own["changes"] = ((draw.randint(2, 9), 2), (draw.randint(10, 15), 6))
    if not several and draw.random() < 0.3:
        own["down"] = (Down(start=4, end=7, processors=1),)
    night = Instance(
        name="n",
        deadline=1000,
        jobs=jobs,
        resources={"disk": 2},
        constraints=(Seats(name="nuke", capacity=2, use={names[0]: 1}),),
        **own,
    )
    keys = np.array([draw.random() for _ in night.tasks.lengths])
    chosen = np.arange(len(jobs))
    return night, schedule_of(night, chosen, dispatch(night, chosen, keys=keys))


def planned_ends(plan: Scheduled) -> dict[tuple[str, int], float]:
    ends: dict[tuple[str, int], float] = {}
    for task in plan.tasks:
        key = task.job, task.stage
        ends[key] = max(task.end, ends.get(key, 0.0))
    return ends


@tried(800, seed=st.integers(0, 2**31))
def test_no_task_starts_late_where_tasks_are_no_longer_than_planned(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night, plan = a_night(draw)
    given = releases(night, plan.tasks)
    lengths: dict[TaskKey, float] = {
        (one.job, one.stage, task): length * draw.choice((0, 0.5, 1, draw.random()))
        for one in given
        for task, length in zip(one.tasks, one.lengths, strict=True)
    }
    ran = carry_out(night, given, lengths)
    assert len(ran) == len(plan.tasks)
    for one in given:
        starts = sorted(ran[one.job, one.stage, task][0] for task in one.tasks)
        planned = sorted(start for start, _ in list_schedule(one.begin, one.lengths, one.at_once))
        assert starts[0] == pytest.approx(one.begin, abs=TOLERANCE)
        assert all(start <= at + TOLERANCE for start, at in zip(starts, planned, strict=True))
    for (job, stage), end in planned_ends(plan).items():
        keys = [key for key in ran if key[:2] == (job, stage)]
        assert max(ran[key][1] for key in keys) <= end + TOLERANCE


def test_equal_tasks_that_follow_each_other_are_one_release() -> None:
    jobs = (Job(name="a", reward=1, stages=((1.0,) * 10, (2.0,))),)
    night = Instance(name="n", processors=4, deadline=9, jobs=jobs)
    plan = schedopt.solve(schedopt.dssp.Schedule(night)).solution
    first, second = releases(night, plan.tasks)
    assert (first.tasks, first.at_once, first.begin, first.end) == (tuple(range(10)), 4, 0, 3)
    assert (second.tasks, second.after) == ((0,), (1,))


TABLE = pl.DataFrame({"name": ["a"], "reward": [1], "tasks": ["2x45m; 1x1h"]})


def test_overhead_is_part_of_each_planned_length(tmp_path: Path) -> None:
    farm = tmp_path / "farm.json"
    hours = {"processors": 1, "from_": "20:00", "until": "06:00"}
    plan = schedopt.plan(TABLE, **hours, overhead="30s", save_farm=farm)
    assert plan.instance.jobs[0].stages == ((2730, 2730), (3630,))
    assert plan.instance.overhead == 30
    assert schedopt.plan(TABLE, farm=farm).rows == plan.rows
    assert schedopt.plan(TABLE, farm=farm, overhead="0s").rows[0]["end"] == 9000
