"""Good schedules of logs in hindsight, compared with brute force on tiny logs."""

import numpy as np
import pytest
from builders.msfq import least, queue_of, random_jobs

import schedopt
from benchmarks.hindsight import (
    HoldBackParams,
    checked,
    held_back,
    optimum,
)
from schedopt.instances.msfq.logs import Jobs

FEW = HoldBackParams(jobs=6, replayed=2_000)


@pytest.mark.parametrize("seed", range(8))
def test_held_back_schedule_lies_between_the_optimum_and_saf(seed: int) -> None:
    jobs, servers = random_jobs(seed, 6)
    queue = queue_of(jobs, servers)
    value, starts = held_back(queue, FEW)
    saf = schedopt.evaluate(queue, "saf").objective
    bound = schedopt.solve(queue, formulation="bound").bound
    assert checked(queue, starts) == pytest.approx(value)
    assert least(queue) <= value * (1 + 1e-9)
    assert value <= saf * (1 + 1e-9)
    assert bound <= least(queue) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_optimum_of_a_short_log_is_that_of_brute_force(seed: int) -> None:
    jobs, servers = random_jobs(seed, 6)
    whole = Jobs(np.floor(jobs.submit), jobs.need, np.ceil(jobs.run))
    queue = queue_of(whole, servers)
    assert optimum(queue, 60.0) == pytest.approx(least(queue))
