"""Chains of replanning, judged by trying everything that can still be done."""

import json
from fractions import Fraction
from random import Random
from typing import Any

import polars as pl
import pytest
from builders.effort import examples, tried
from hypothesis import strategies as st

import schedopt
from judge.brute import Night
from judge.replanned import World, drawn_events, drawn_night
from schedopt.instances import files
from schedopt.instances.dssp.worth import by_level, level_name
from schedopt.instances.errors import InputError
from schedopt.verbs.check import judged

SEEDS = st.integers(0, 2**31)
TITLES = ("job", "status", "start", "processors", "end", "pool")
HOW: dict[str, Any] = {"threads": 1, "time_limit": 20.0}


def state(rows: list[dict[str, str]]) -> pl.DataFrame | None:
    cells = [{title: row.get(title, "") for title in TITLES} for row in rows]
    return pl.DataFrame(cells) if cells else None


def tasks_of(plan: Any) -> list[dict[str, Any]]:
    solution = plan.result.document().solution
    return list(solution.get("tasks", ()))


@tried(800, seed=st.integers(0, 10**7))
def test_chains_of_replanning_are_the_best_that_can_still_be_done(seed: int) -> None:
    judge_chain(seed)


def judge_chain(seed: int) -> int:
    """Judge one night and up to five replans of it; return how many replans were judged."""
    draw = Random(seed)  # noqa: S311
    night = drawn_night(draw)
    try:
        instance = files.parse(json.dumps(night).encode())
    except InputError:  # such as a job that is wider than the machine
        return 0
    world = World(night)
    plan: Any = schedopt.plan(instance, **HOW)
    if plan.run is None:
        return 0
    now, done = 0, 0
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        now = draw.randint(now, int(night["deadline"]) - 1)
        world.advance(tasks_of(plan), now)
        rows = drawn_events(draw, world)
        deadline = int(night["deadline"])
        if not any(any(level[:deadline]) for level in world.there.values()):
            return done  # an instance has some processor before its deadline
        plan = schedopt.replan(plan, at=now, state=state(rows), **HOW)
        best = world.best()
        if best is None:
            assert any("can no longer hold" in note for note in plan.notes), seed
            return done
        assert plan.result.termination == "optimal", (seed, now)
        assert Fraction(plan.result.objective).limit_denominator(1000) == best, (seed, now)
        done += 1
    if done:
        assert judged(None, plan.result.document()).whole, seed
    return done


@tried(120, seed=SEEDS)
def test_replan_without_news_changes_nothing(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night = drawn_night(draw)
    try:
        plan: Any = schedopt.plan(files.parse(json.dumps(night).encode()), **HOW)
    except InputError:
        return
    now, before = 0, tasks_of(plan)
    for _ in range(2 if plan.run is not None else 0):
        now = draw.randint(now, int(night["deadline"]) - 1)
        plan = schedopt.replan(plan, at=now, **HOW)
        assert {change.change for change in plan.changes} <= {"kept"}
        assert tasks_of(plan) == before


@pytest.mark.parametrize("seed", range(examples(20)))
def test_replanning_keeps_the_order_of_several_objectives(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    jobs = [
        {
            "name": f"j{i}",
            "reward": 1,
            "stages": [[draw.choice((1, 1, 2)) for _ in range(draw.choice((1, 1, 2)))]],
            "values": {level_name(draw.randint(1, 4)): 1.0},
        }
        for i in range(5)
    ]
    file = {"problem": "dssp", "name": "s", "processors": 2, "deadline": 4, "jobs": jobs}
    night = by_level(files.parse(json.dumps(file).encode()), most=0)
    plan: Any = schedopt.plan(night, **HOW)
    plan = schedopt.replan(
        plan, at=draw.choice((0, 1, 2)), state=state([{"processors": "1"}]), **HOW
    )
    assert plan.result.termination == "optimal"
    best = Night(files.encode(plan.replanning.rest.instance)).best_in_order()
    solution = plan.result.solution
    assert (solution.objectives or (plan.result.objective,)) == best
