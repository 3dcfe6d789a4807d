"""Bounds on logs: worked out by hand, and beaten by no policy."""

from __future__ import annotations

import pytest
from builders.effort import examples
from builders.msfq_logs import queue_of, random_jobs
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, started
from schedopt.solvers.msfq.log_bound.relaxations import bounds


def test_bounds_worked_out_by_hand() -> None:
    found = bounds(queue_of(Jobs.of([0, 0, 1], [4, 4, 4], [4, 2, 1]), 4))
    assert found["run"] == pytest.approx(7 / 3)
    assert found["squashed-area"] == pytest.approx((7 + 2 + 2) / 3)  # 2, then 1, then 4
    assert found["best"] == found["squashed-area"]
    wide = bounds(queue_of(Jobs.of([0, 0], [1, 4], [8, 2]), 4))
    assert wide["squashed-area"] == pytest.approx((2 + 4) / 2)
    assert wide["combined"] == wide["run"] == 5
    # Both have work 8: one after the other, their mean dates are 1 and 3.
    assert wide["busy-dates"] == pytest.approx((1 + 3 + 5) / 2)


@settings(max_examples=examples(300), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(sorted(LOG_POLICIES)))
def test_no_policy_beats_a_bound(seed: int, name: str) -> None:
    queue = queue_of(*random_jobs(seed, 12))
    starts = started(queue, name, "given")
    mean = float((starts + queue.jobs.run - queue.jobs.submit).mean())
    found = bounds(queue)
    assert found["combined"] >= max(found["run"], found["squashed-area"]) * (1 - 1e-12)
    assert all(bound <= mean * (1 + 1e-12) for bound in found.values())
