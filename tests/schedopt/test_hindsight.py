"""Good schedules of logs in hindsight, compared with brute force on tiny logs."""

import pytest
from builders.msfq import least, queue_of, random_jobs

import schedopt
from benchmarks.hindsight import checked, held_back


@pytest.mark.parametrize("seed", range(8))
def test_held_back_schedule_lies_between_the_optimum_and_saf(seed: int) -> None:
    queue = queue_of(*random_jobs(seed, 6))
    value, starts = held_back(queue, jobs=6, replayed=2_000)
    saf = schedopt.evaluate(queue, "saf").objective
    bound = schedopt.solve(queue, formulation="bound").bound
    assert checked(queue, starts) == pytest.approx(value)
    assert least(queue) <= value * (1 + 1e-9)
    assert value <= saf * (1 + 1e-9)
    assert bound <= least(queue) * (1 + 1e-9)
