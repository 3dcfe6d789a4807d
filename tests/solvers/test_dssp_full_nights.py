"""Nights that are exactly full: bin completion finds the packing that proves the bound."""

import random
from itertools import pairwise

import pytest
from builders.effort import ALL

import schedopt
from schedopt.instances.dssp import Instance, Job

HORIZON = 1_000


def full_night(processors: int, tasks: int, jobs: int, seed: int) -> Instance:
    """Cut each processor's time into tasks, and deal these to jobs at random."""
    draw = random.Random(seed)  # noqa: S311
    lengths = []
    for _ in range(processors):
        cuts = [0, *sorted(draw.sample(range(1, HORIZON), tasks - 1)), HORIZON]
        lengths += [float(end - start) for start, end in pairwise(cuts)]
    draw.shuffle(lengths)
    return Instance(
        name="full",
        processors=processors,
        deadline=HORIZON,
        jobs=tuple(
            Job(name=f"j{j}", reward=draw.randint(1, 20), stages=(tuple(lengths[j::jobs]),))
            for j in range(jobs)
        ),
    )


@pytest.mark.parametrize("seed", range(20 if ALL else 1))
@pytest.mark.parametrize("jobs", [10])
@pytest.mark.parametrize("tasks", [3, 5])
@pytest.mark.parametrize("processors", [10, 50])
def test_schedule_of_full_night_is_proven(
    processors: int, tasks: int, jobs: int, seed: int
) -> None:
    night = full_night(processors, tasks, jobs, seed)
    result = schedopt.solve(night, formulation="schedule", time_limit=60)
    assert result.solution_status == "optimal"
    assert result.objective == sum(job.reward for job in night.jobs)
    assert not result.violations
