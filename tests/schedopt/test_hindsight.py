"""Good schedules of logs in hindsight, compared with brute force on tiny logs."""

import numpy as np
import pytest
from builders.msfq import least, queue_of, random_jobs

import schedopt
from benchmarks.hindsight import (
    HoldBackParams,
    SliceParams,
    checked,
    held_back,
    optimum,
    slices,
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


def test_a_long_wide_job_is_held_back_until_the_others_are_done() -> None:
    count = 30
    submit = np.append(0.0, np.arange(count) + 1.0)
    need = np.append(4, np.ones(count, int)).astype(np.int32)
    run = np.append(20.0, np.ones(count))
    queue = queue_of(Jobs(submit, need, run), 4)
    value, starts = held_back(queue, FEW)
    assert starts[0] >= count
    assert value < 0.5 * schedopt.evaluate(queue, "saf").objective


@pytest.mark.parametrize("seed", range(8))
def test_optimum_of_a_short_log_is_that_of_brute_force(seed: int) -> None:
    jobs, servers = random_jobs(seed, 6)
    whole = Jobs(np.floor(jobs.submit), jobs.need, np.ceil(jobs.run))
    queue = queue_of(whole, servers)
    assert optimum(queue, 60.0) == pytest.approx(least(queue))


def test_parts_of_a_log_bracket_their_optimum() -> None:
    jobs, servers = random_jobs(3, 40, 4)
    queue = queue_of(Jobs(np.floor(jobs.submit), jobs.need, np.ceil(jobs.run)), servers)
    found = slices(queue, SliceParams(jobs=6, count=4, effort=60.0))
    assert found
    assert all(below <= 1e-9 and above >= -1e-9 for below, above in found)


def test_a_wrong_schedule_is_refused() -> None:
    queue = queue_of(Jobs(np.zeros(2), np.array([3, 3], np.int32), np.ones(2)), 4)
    with pytest.raises(RuntimeError, match="capacity"):
        checked(queue, np.zeros(2))
