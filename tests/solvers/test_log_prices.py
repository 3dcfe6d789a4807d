"""Prices bound what policies get, and windows of logs are solved: both against brute force."""

import json
from itertools import permutations
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import least, queue_of, random_jobs, random_parts
from hypothesis import example
from hypothesis import strategies as st

import schedopt
from schedopt.formulations.msfq import LogBound, Window
from schedopt.formulations.msfq.log_bound import Ticks
from schedopt.formulations.msfq.window import placed
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, started
from schedopt.solvers.clock import now
from schedopt.solvers.msfq.log_bound.prices import PriceSearch, grid_of, opening
from schedopt.solvers.msfq.log_bound.relaxations import bounds, relaxed
from schedopt.solvers.msfq.window import windows
from schedopt.solvers.msfq.window.annealing import improved
from schedopt.solvers.msfq.window.annealing_kernels import place
from schedopt.solvers.msfq.window.packing import Packing
from schedopt.solvers.msfq.window.partial import PartialSearch

SEEDS = st.integers(0, 2**32 - 1)
OBJECTIVES = st.sampled_from(["mean", "weighted"])


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
        assert result.bound <= values(queue, started(queue, name, "exact")) * (1 + 1e-9)


def bound_of(part: Any, resource: str, weighted: bool) -> float:
    """Return what one resource alone proves by the plain relaxations."""
    return max(relaxed(part.ticks[resource], weighted=weighted, of=resource).values())


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
    assert found["best"] == found["squashed-area"]
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
    prices = opening(Ticks.of(queue), np.array([0, 1, 3, 5]))
    assert prices == pytest.approx([(1.0 + 0.5) / 2, (0.5 + 0.25) / 2, 0.25 / 2])


def test_prices_prove_more_than_relaxations_where_jobs_do_not_fit_side_by_side() -> None:
    draw = np.random.default_rng(5)
    n = 200
    queue = queue_of(
        Jobs.of(np.sort(draw.integers(0, 900, n)), draw.integers(1, 9, n), draw.integers(1, 20, n)),
        10,
    )
    ticks = Ticks.of(queue)
    starts = started(queue, "saf", "exact") - queue.jobs.submit[0]
    target = float((starts + ticks.run - ticks.submit).sum())
    search = PriceSearch(ticks, target, grid_of(ticks, starts, 10_000), rounds=200)
    while not search.advance(1.0):
        pass
    assert max(bounds(queue).values()) * 1.1 < search.bound <= target / n


def test_prices_of_two_resources_prove_more_than_of_either() -> None:
    draw = np.random.default_rng(1)
    n = 200
    split = draw.random(n) < 0.5  # one half is short of GPUs, the other of servers
    need = np.where(split, draw.integers(1, 3, n), draw.integers(2, 17, n))
    jobs = Jobs.of(
        np.sort(draw.integers(0, 1000, n)),
        need,
        draw.integers(1, 40, n),
        needs={"gpu": np.where(split, draw.integers(1, 5, n), 0)},
    )
    queue = queue_of(jobs, 32, resources={"gpu": 8})
    model = LogBound(queue)
    result = schedopt.solve(model, certificate=True)
    assert result.bound_checked
    assert model.parts[0].priced == ("servers", "gpu")
    alone = [queue_of(Jobs.of(jobs.submit, need, jobs.run), 32)]
    mine = jobs.take(split)
    amounts = mine.needs.amounts[:, 0] if mine.needs else []
    alone += [queue_of(Jobs.of(mine.submit, amounts, mine.run), 8)]
    servers, gpus = (schedopt.solve(LogBound(one)).bound or 0.0 for one in alone)
    gpus = (gpus * split.sum() + float(jobs.run[~split].sum())) / n
    assert (result.bound or 0.0) > 1.05 * max(servers, gpus)


def test_what_prices_rule_out_costs_too_much() -> None:
    draw = np.random.default_rng(3)
    jobs = Jobs.of(
        np.sort(draw.integers(0, 50, 20)), draw.integers(1, 4, 20), draw.integers(1, 15, 20)
    )
    model = Window(queue_of(jobs, 8))
    before = [max(v.domain) - min(v.domain) for v in model.model.proto.variables]
    known = model.scheduled(list(range(20)))
    bound = windows.tightened(model, known, windows.Limits(), model.model)
    after = [max(v.domain) - min(v.domain) for v in model.model.proto.variables]
    assert sum(after) < sum(before)
    best = schedopt.solve(Window(queue_of(jobs, 8)), threads=1, time_limit=5)
    assert bound <= (best.objective or 0.0)
    if best.proven and (best.objective or 0.0) < model.instance.objective_of(known):
        starts = [one.start for one in best.solution.starts]
        for variable, start in zip(model.model.proto.variables, starts, strict=False):
            pieces = list(zip(*[iter(variable.domain)] * 2, strict=True))
            assert any(low <= start - jobs.submit[0] <= high for low, high in pieces)


def test_times_that_no_whole_numbers_hold_are_said_to_be_rounded() -> None:
    jobs = Jobs.of([0.0, 1e-9, 1e9], [1, 2, 2], [1 / 3, 1e9, 2.0])
    model = Window(queue_of(jobs, 2))
    assert not model.exact
    result = schedopt.solve(model, threads=1)
    assert result.violations == ()
    assert not result.proven or result.gap == 0.0


@pytest.mark.parametrize(
    ("given", "where"), [({"first": 3}, "within the log's 3 jobs"), ({"count": 9}, "within")]
)
def test_a_window_is_within_the_log(given: dict[str, int], where: str) -> None:
    queue = queue_of(Jobs.of([0, 1, 2], [1, 1, 1], [1, 1, 1]), 1)
    with pytest.raises(InputError, match=where):
        Window(queue, **given)


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
    for model in (LogBound(queue), Window(queue)):
        result = schedopt.solve(model, threads=1)
        assert result.violations == ()
        assert result.bound <= (result.objective or 0.0) * (1 + 1e-9)


def crowded(seed: int, most: int, objective: str = "mean") -> Instance:
    """Draw jobs of few needs and run times, so that some are alike and much falls together."""
    draw = np.random.default_rng(seed)
    n, servers = int(draw.integers(1, most + 1)), int(draw.integers(2, 9))
    jobs = Jobs.of(
        np.sort(draw.integers(0, 2 * n, n)),
        draw.integers(1, servers + 1, n),
        draw.choice([1, 2, 3, 5, 8], n),
    )
    return queue_of(jobs, servers, objective=objective)


def starts_of(ticks: Ticks, order: list[int]) -> np.ndarray:
    room = np.zeros((2, 2 * len(order) + 2), np.int64)
    starts = np.zeros(len(order), np.int64)
    place(np.array(order), ticks.submit, ticks.need, ticks.run, ticks.servers, starts, *room)
    return starts


def least_of(ticks: Ticks) -> int:
    return min(
        int(ticks.weight @ starts_of(ticks, list(order)))
        for order in permutations(range(len(ticks.run)))
    )


def priced(ticks: Ticks, known: int, rounds: int = 100) -> Packing:
    at = starts_of(ticks, list(range(len(ticks.run)))).astype(float)
    grid = grid_of(ticks, at, 400)
    alike = PriceSearch(ticks, float(known + ticks.weight @ ticks.run), grid, rounds=rounds)
    alike.advance(1.0)
    packing = Packing(ticks, grid, known)
    packing.open(alike.best.prices / alike.best.unit, now() + 10)
    return packing


@tried(40, seed=SEEDS)
def test_orders_stand_for_the_same_schedule_as_in_the_model(seed: int) -> None:
    queue = crowded(seed, 12)
    ticks = Ticks.of(queue)
    order = np.random.default_rng(seed).permutation(len(ticks.run)).tolist()
    theirs = placed(queue.jobs, queue.servers, order) - queue.jobs.submit[0]
    assert starts_of(ticks, order).tolist() == theirs.tolist()


@tried(60, seed=SEEDS, objective=OBJECTIVES, spare=st.integers(0, 40))
def test_partial_schedules_equal_brute_force(seed: int, objective: str, spare: int) -> None:
    ticks = Ticks.of(crowded(seed, 5, objective))
    best = least_of(ticks)
    known = best + spare * int(np.gcd.reduce(ticks.weight))
    free = Packing(ticks, np.array([0, 1]), known)  # servers cost nothing: nothing is ruled out
    for packing in (free, priced(ticks, known)):
        if packing.closed:
            assert spare == 0
            continue
        assert packing.total <= max(best, known - packing.step) * packing.unit
        search = PartialSearch(packing, most=20_000)
        while not search.advance(1.0):
            pass
        assert search.proven
        assert search.known == best
        starts = search.starts()
        if spare:
            assert int(ticks.weight @ starts) == best
            assert starts_of(ticks, np.argsort(starts, kind="stable").tolist()).tolist() == (
                starts.tolist()
            )


def test_prices_by_need_prove_more_where_needs_leave_servers_idle() -> None:
    # Of three jobs that need 3 of 5 servers one runs at a time: 4 + 8 + 12. Prices of a server
    # alone sell the other 2 as well.
    ticks = Ticks.of(queue_of(Jobs.of([0, 0, 0], [3, 3, 3], [4, 4, 4]), 5))
    known = 4 + 8
    alike = PriceSearch(ticks, 24.0, np.array([0, 4, 8, 12]), rounds=300)
    alike.advance(1.0)
    assert alike.bound * 3 < 0.9 * 24
    packing = Packing(ticks, np.array([0, 4, 8, 12]), known)
    packing.open(alike.best.prices / alike.best.unit, now() + 10)
    assert packing.closed


def test_annealing_finds_what_is_best_and_keeps_what_it_is_given() -> None:
    for seed in range(8):
        ticks = Ticks.of(crowded(seed, 6))
        best = least_of(ticks)
        order = np.arange(len(ticks.run))
        value, starts = improved(ticks, [order], 0, rounds=2000)
        assert value == best == int(ticks.weight @ starts)
        value, starts = improved(ticks, [order], 0, rounds=0)
        assert value == int(ticks.weight @ starts_of(ticks, order.tolist()))


def test_a_window_of_many_jobs_that_wait_is_proven() -> None:
    draw = np.random.default_rng(8)
    n = 40
    jobs = Jobs.of(
        np.sort(draw.integers(0, 4000, n)),
        draw.choice([1, 4, 16, 60, 130], n),
        np.rint(draw.lognormal(5, 1, n)) + 1,
    )
    result = schedopt.solve(Window(queue_of(jobs, 240)), time_limit=60)
    assert result.violations == ()
    assert result.proven
    assert (np.array([one.start for one in result.solution.starts]) > jobs.submit).sum() >= 5
