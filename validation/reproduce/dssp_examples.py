"""The dssp paper's two drawings: what they stand for, on instances of our own."""

from __future__ import annotations

import msgspec
import numpy as np

from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.generators import GENERATORS
from schedopt.policies.dssp import dispatchers
from schedopt.validation.reproduce.dssp_theorems import optimal_reward
from schedopt.validation.reproduce.dssp_workload import PAPER
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction

DRAWN = "The numbers are in a drawing that the text does not carry: random jobs instead."


def alone(night: Instance, job: Job, processors: int) -> float:
    """Return how long a job takes by itself."""
    single = msgspec.structs.replace(night, jobs=(job,), processors=processors)
    played = dispatchers.simulated(single, "first", np.array([0]))
    return float(played.completion[0])


@reproduction(
    "dssp/figure-1",
    title="Jobs, stages and tasks: demand and critical path",
    source=f"{PAPER}, section 2, Figure 1",
    workload=DRAWN,
)
def figure_1(quick: bool) -> Outcome:
    """Run jobs alone, on one processor and on as many as they have tasks."""
    one, many, tried = [0.0], [0.0], 0
    for seed in range(3 if quick else 30):
        night = GENERATORS["render-night"](seed)
        for job in night.jobs:
            tasks = sum(map(len, job.stages or ()))
            one.append(abs(alone(night, job, 1) / job.planned_demand - 1))
            many.append(abs(alone(night, job, tasks) / job.planned_critical_path - 1))
            tried += 1
    shown = f"largest relative difference {{:.1e}} in {tried} jobs"
    return Outcome(
        [
            Claim(
                "T_1, the sum of all lengths, is what a job takes on one processor",
                "by definition",
                shown.format(max(one)),
                max(one) < 1e-9,
            ),
            Claim(
                "T_∞, the longest task of each stage, is what it takes where processors abound",
                "by definition",
                shown.format(max(many)),
                max(many) < 1e-9,
            ),
            Claim("the two jobs drawn", "drawn", "cannot be read from the text", None),
        ]
    )


@reproduction(
    "dssp/figure-2",
    title="A schedule in which one job is in time and another is not",
    source=f"{PAPER}, section 2, Figure 2",
    workload=f"{DRAWN} Two jobs of two stages, each of two tasks of 5; P = 2, D = 10.",
)
def figure_2(quick: bool) -> Outcome:
    """Solve a night of two jobs of which only one can be in time."""
    del quick
    jobs = tuple(Job(name=name, reward=1, stages=((5, 5), (5, 5))) for name in ("a", "b"))
    night = Instance(name="figure-2", processors=2, deadline=10, jobs=jobs)
    by_itself = min(alone(night, job, 2) for job in jobs)
    best = optimal_reward(night)
    return Outcome(
        [
            Claim(
                "an optimal schedule may leave a job that would be in time by itself",
                "one of two completes",
                f"each takes {by_itself:g} of 10 alone; together {best:g} of 2, proven",
                by_itself <= 10 and best == 1,
            ),
            Claim("the schedule drawn", "drawn", "cannot be read from the text", None),
        ]
    )
