"""Objectives in order, judged by trying everything."""

import json
from random import Random
from typing import Any

import pytest
from builders.effort import examples

import schedopt
from judge.brute import Night
from judge.nights import drawn
from schedopt.instances import files

PART = 25


def with_objectives(seed: int) -> Any:
    """Draw a night whose jobs have a level each, some too large to be combined into one number."""
    draw, file = Random(seed), json.loads(drawn(seed, ("late", "predicted")))  # noqa: S311
    levels = [f"level {n}" for n in range(draw.randint(1, 4))]
    size = draw.choice((1, 1, 2**20))
    for job in file["jobs"]:
        level = draw.choice(["reward", *levels, "nothing"])
        job["reward"] = size * draw.choice((1, 0.25)) if level == "reward" else 0
        job["values"] = {level: size} if level in levels else {}
    used = {name for job in file["jobs"] for name in job["values"]}
    file["objectives"] = ["reward", *(level for level in levels if level in used)]
    return file


@pytest.mark.parametrize("part", range(examples(40)))
def test_schedule_is_best_for_objectives_in_order(part: int) -> None:
    for seed in range(PART * part, PART * (part + 1)):
        text = json.dumps(with_objectives(seed)).encode()
        truth = Night(text).best_in_order()
        result = schedopt.solve(files.parse(text), formulation="schedule", threads=1)
        if truth is None:
            assert result.termination == "infeasible", seed
            continue
        assert result.proven, (seed, result.message)
        assert not result.violations, (seed, result.violations)
        objectives = result.solution.objectives or (result.objective,)
        assert tuple(map(float, truth)) == pytest.approx(objectives), seed
