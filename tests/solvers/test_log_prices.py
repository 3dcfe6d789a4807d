"""Prices bound what policies get: against brute force, and optima that were proven."""

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import least, queue_of, random_jobs, random_parts
from hypothesis import example
from hypothesis import strategies as st

import schedopt
from schedopt.formulations.msfq import LogBound
from schedopt.formulations.msfq.log_bound import Ticks
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, replay_log
from schedopt.solvers.msfq.log_bound.prices import PriceSearch, grid_of, opening_prices
from schedopt.solvers.msfq.log_bound.relaxations import relaxation_bounds

SEEDS = st.integers(0, 2**32 - 1)
OBJECTIVES = st.sampled_from(["mean", "weighted"])


def bounds(queue: Instance) -> dict[str, float]:
    return relaxation_bounds(Ticks.of(queue), weighted=queue.objective == "weighted")


def values(queue: Instance, starts: Any) -> float:
    response = starts + queue.jobs.run - queue.jobs.submit
    weights = queue.jobs.need * queue.jobs.run if queue.objective == "weighted" else None
    return float(np.average(response, weights=weights))


@tried(60, seed=SEEDS, objective=OBJECTIVES, big=st.sampled_from([1.0, 0.1, 1e9, 1 / 3]))
@example(seed=6795789, objective="mean", big=1.0)
def test_no_policy_beats_a_re_proved_bound(seed: int, objective: str, big: float) -> None:
    jobs, servers = random_jobs(seed, 12)
    times = [jobs.submit * big, jobs.run * big]
    users = [f"u{i % 2}" for i in range(len(jobs))]
    jobs = Jobs.of(times[0], jobs.need, times[1], user=users)
    queue = queue_of(jobs, servers, objective=objective)
    result = schedopt.solve(LogBound(queue, rounds=60), certificate=True)
    assert result.violations == ()
    by_horizon = result.bounded_by == "model"  # whose jobs end by one; a certificate knows none
    assert result.bound_checked or by_horizon
    assert result.bound >= max(bounds(queue).values()) * (1 - 1e-9)
    for name in LOG_POLICIES:
        assert result.bound <= values(queue, replay_log(queue, name, "exact")) * (1 + 1e-9)


def bound_of(part: Any, resource: str, weighted: bool) -> float:
    """Return what one resource alone proves by the plain relaxations."""
    return max(relaxation_bounds(part.ticks[resource], weighted=weighted, of=resource).values())


@tried(80, seed=SEEDS, objective=OBJECTIVES)
def test_no_schedule_of_several_resources_beats_a_bound(seed: int, objective: str) -> None:
    queue = random_parts(seed, 5, objective=objective)
    best = least(queue)
    model = LogBound(queue, rounds=60)
    result = schedopt.solve(model, certificate=True)
    assert result.violations == ()
    assert result.bound_checked
    assert result.bound <= best * (1 + 1e-9) <= result.objective * (1 + 2e-9)
    weighted = objective == "weighted"
    alone = [max(bound_of(part, one, weighted) for one in part.ticks) for part in model.parts]
    heavy = [float(part.weight) for part in model.parts]
    assert result.bound >= np.average(alone, weights=heavy) * (1 - 1e-9)
    # No certificate proves what is not true, whatever prices it makes up.
    draw = np.random.default_rng(seed)
    made_up = json.loads(msgspec.json.encode(model.certificate()))
    for part in made_up["parts"]:
        cells = int(draw.integers(1, 6))
        part["grid"] = np.cumsum(draw.integers(1, 9, cells + 1)).tolist()
        names = ["servers", *queue.jobs.needs.names]
        part["prices"] = {name: draw.integers(0, part["unit"], cells).tolist() for name in names}
    parts = made_up["parts"]
    forged = [made_up, model.certificate(), made_up | {"parts": parts * 2}]
    forged += [made_up | {"parts": parts[1:]}, made_up | {"kind": "server-prices"}]
    for certificate in forged:
        claim = msgspec.structs.replace(
            result.document(), bound=best * 1.001, certificate=certificate, proved_by=None
        )
        assert schedopt.check(queue, claim).bound != "re-proved"


def test_bounds_worked_out_by_hand() -> None:
    found = bounds(queue_of(Jobs.of([0, 0, 1], [4, 4, 4], [4, 2, 1]), 4))
    assert found["run"] == pytest.approx(7 / 3)
    assert found["squashed-area"] == pytest.approx((7 + 2 + 2) / 3)  # 2, then 1, then 4
    assert max(found.values()) == found["squashed-area"]
    wide = bounds(queue_of(Jobs.of([0, 0], [1, 4], [8, 2]), 4))
    assert wide["squashed-area"] == pytest.approx((2 + 4) / 2)
    assert wide["combined"] == wide["run"] == 5
    # Both have work 8, which is done evenly from 0 to 4: on average at 2.
    heavy = bounds(queue_of(Jobs.of([0, 0], [1, 4], [8, 2]), 4, objective="weighted"))
    assert heavy["busy-dates"] == pytest.approx(2 + (8 + 2) / 2 / 2)


def test_a_price_worked_out_by_hand() -> None:
    # Two jobs that need the machine, at once: one waits for the other, 1 + (1 + 4).
    queue = queue_of(Jobs.of([0, 0], [2, 2], [1, 4]), 2)
    result = schedopt.solve(LogBound(queue))
    assert result.objective == 3.0
    assert result.bound == pytest.approx(3.0, rel=1e-3)
    # The opening has the closed form of mean busy dates: from 5 on servers are free; before, the
    # long one pays 1/8 a tick of the rest, and from 0 to 1 the short one 1/2 of what is left of it.
    prices = opening_prices(Ticks.of(queue), np.array([0, 1, 3, 5]))
    assert prices == pytest.approx([(1.0 + 0.5) / 2, (0.5 + 0.25) / 2, 0.25 / 2])


def test_prices_prove_more_than_relaxations_where_jobs_do_not_fit_side_by_side() -> None:
    draw = np.random.default_rng(5)
    n = 200
    queue = queue_of(
        Jobs.of(np.sort(draw.integers(0, 900, n)), draw.integers(1, 9, n), draw.integers(1, 20, n)),
        10,
    )
    ticks = Ticks.of(queue)
    starts = replay_log(queue, "saf", "exact") - queue.jobs.submit[0]
    target = float((starts + ticks.run - ticks.submit).sum())
    search = PriceSearch(ticks, target, grid_of(ticks, starts, 10_000), rounds=200)
    while not search.advance(1.0):
        pass
    assert max(bounds(queue).values()) * 1.1 < search.bound <= target / n


@pytest.mark.parametrize(
    ("jobs", "servers"),
    [
        (Jobs.of([0, 1, 2], [2**31 - 1] * 3, [1, 2, 3]), 2**31 - 1),
        (Jobs.of([0, 1e-300], [3, 3], [1e-300, 1e-300]), 5),
        (Jobs.of([1e15, 1e15 + 1], [3, 3], [1e14, 1e-3]), 5),
    ],
)
@pytest.mark.parametrize("objective", ["mean", "weighted"])
def test_numbers_at_the_ends_of_their_range(jobs: Jobs, servers: int, objective: str) -> None:
    queue = queue_of(jobs, servers, objective=objective)
    result = schedopt.solve(LogBound(queue), threads=1)
    assert result.violations == ()
    assert result.bound <= (result.objective or 0.0) * (1 + 1e-9)


@pytest.mark.parametrize(("objective", "optimum"), [("mean", 336.475), ("weighted", 993.252930)])
def test_bound_of_forty_jobs_is_near_a_proven_optimum(objective: str, optimum: float) -> None:
    """The optima were proven by a search over partial schedules, in an earlier version."""
    draw = np.random.default_rng(8)
    jobs = Jobs.of(
        np.sort(draw.integers(0, 4000, 40)),
        draw.choice([1, 4, 16, 60, 130], 40),
        np.rint(draw.lognormal(5, 1, 40)) + 1,
    )
    result = schedopt.solve(LogBound(queue_of(jobs, 240, objective=objective)))
    assert 0.9 * optimum < (result.bound or 0.0) <= optimum
    assert optimum <= (result.objective or 0.0) * (1 + 1e-9)
