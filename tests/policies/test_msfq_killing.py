"""Rules with a window, and rules that stop jobs: against what their authors' own code does."""

from typing import Any

import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import at_load, of_classes, queue_of
from hypothesis import strategies as st

import schedopt
from schedopt.instances.msfq.logs import Jobs
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.logs import class_rules
from schedopt.policies.msfq.played import Measured
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate

TWO, FOUR = (1, 8), (1, 3, 5, 8)
SHARES = {TWO: [0.9, 0.1], FOUR: [0.5, 0.25, 0.2, 0.05]}
RUNS = [
    ("smash", {"window": 1}, 5017.604378, 3591.238264),
    ("smash", {"window": 3}, 1656.482285, 1250.543252),
    ("smash", {"window": 0}, 1506.657128, 1442.781882),
    ("kill-smart", {"k": 2}, 7394.653033, 3670.192003),
    ("kill-smart", {"k": 5}, 3096.285643, 3948.152883),
    ("kill-smart", {"k": 3, "v": 3}, 3335.151234, 2771.384865),
    ("dual-kill", {"k": 2}, 5462.887033, 4351.693934),
    ("dual-kill", {"k": 4}, 4718.222882, 3750.566238),
]
BY_SIZES = [
    ("backfilling", {}, 1018.918425, 1098.05476),
    ("backfilling", {"overestimate": 0.5}, 987.611774, 974.286103),
    ("backfilling", {"overestimate": 3.0}, 1056.988694, 947.542788),
]
"""What all jobs of two traces respond in together, by the policies of the MJQM simulator."""


def trace(needs: tuple[int, ...], seed: int, jobs: int = 400, load: float = 0.8) -> Trace:
    draw, shares = np.random.default_rng(seed), np.array(SHARES[needs])
    kinds = draw.choice(len(needs), jobs, p=shares).astype(np.int64)
    times = np.cumsum(draw.exponential(float(shares @ needs) / 8 / load, jobs))
    return Trace(times, kinds, draw.exponential(1.0, jobs))


def played(needs: tuple[int, ...], name: str, options: dict[str, Any], jobs: Trace) -> Measured:
    queue = of_classes(8, *zip(needs, SHARES[needs], strict=True))
    return simulate(
        queue,
        plan(queue, name, **options),
        arrivals=len(jobs.times),
        trace=jobs,
        each=True,
        estimates=True,
    )


@pytest.mark.parametrize(("name", "options", "two", "four"), RUNS + BY_SIZES)
def test_rules_play_as_published(
    name: str, options: dict[str, Any], two: float, four: float
) -> None:
    for needs, total in ((TWO, two), (FOUR, four)):
        found = played(needs, name, options, trace(needs, 1))
        assert found.responses.sum() == pytest.approx(total, abs=1e-5)


@tried(
    20,
    seed=st.integers(0, 2**31 - 1),
    run=st.sampled_from(RUNS),
    needs=st.sampled_from([TWO, FOUR]),
)
def test_the_runs_that_end_fit_together(seed: int, run: Any, needs: tuple[int, ...]) -> None:
    jobs = trace(needs, seed, 150, 0.95)
    found = played(needs, run[0], run[1], jobs)
    ends = jobs.times + found.responses
    starts, held = ends - jobs.sizes, np.array(needs)[jobs.classes]
    assert (starts >= jobs.times - 1e-9).all()
    busy = [held[(starts <= at + 1e-9) & (at + 1e-9 < ends - 1e-9)].sum() for at in starts]
    assert max(busy) <= 8


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "options"), [run[:2] for run in RUNS])
def test_on_a_log_they_start_as_in_a_queue(name: str, options: dict[str, Any], seed: int) -> None:
    jobs = trace(FOUR, seed, 200, 0.95)
    log = queue_of(Jobs.of(jobs.times, np.array(FOUR)[jobs.classes], jobs.sizes), 8)
    starts = class_rules.replay_classes(log, plan(class_rules.classes(log), name, **options))
    ended = played(FOUR, name, options, jobs).responses
    np.testing.assert_array_equal(starts + jobs.sizes - jobs.times, ended)


def test_a_window_lies_between_what_is_known() -> None:
    jobs = trace(FOUR, 2)
    one, all_of = (played(FOUR, "smash", {"window": w}, jobs).responses for w in (1, 0))
    assert one.tolist() == played(FOUR, "fcfs", {}, jobs).responses.tolist()
    assert all_of.tolist() == played(FOUR, "msf", {}, jobs).responses.tolist()


def test_stopped_jobs_must_fit_together() -> None:
    told = schedopt.evaluate(at_load(8, 0.5), "kill-smart", options={"k": 6, "v": 2})
    assert told.termination == "not-applicable"
    assert "take k = 5 at most" in str(told.message)
    known = schedopt.bench([at_load(4, 0.5)], policies=["kill-smart"], options={"arrivals": 2000})
    assert known[0].objective and known[0].gap is None  # it learns sizes by stopping jobs
