"""Windows of logs: annealed orders, prices by need, partial schedules and parts, each by itself."""

from itertools import permutations

import numpy as np
import pytest
from builders.effort import examples
from builders.msfq_logs import queue_of
from hypothesis import given, settings
from hypothesis import strategies as st

import schedopt
from schedopt.formulations.msfq import Window
from schedopt.formulations.msfq.log_bound import Ticks
from schedopt.formulations.msfq.window import placed
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.solvers.clock import now
from schedopt.solvers.msfq.log_bound.prices import PriceSearch, grid_of
from schedopt.solvers.msfq.window import splitting, windows
from schedopt.solvers.msfq.window.annealing import improved
from schedopt.solvers.msfq.window.annealing_kernels import place
from schedopt.solvers.msfq.window.packing import Packing
from schedopt.solvers.msfq.window.partial import PartialSearch
from schedopt.solvers.msfq.window.splitting import Splitting

SEEDS = st.integers(0, 2**32 - 1)
OBJECTIVES = st.sampled_from(["mean", "weighted"])


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


@settings(max_examples=examples(40), deadline=None)
@given(seed=SEEDS)
def test_orders_stand_for_the_same_schedule_as_in_the_model(seed: int) -> None:
    queue = crowded(seed, 12)
    ticks = Ticks.of(queue)
    order = np.random.default_rng(seed).permutation(len(ticks.run)).tolist()
    theirs = placed(queue.jobs, queue.servers, order) - queue.jobs.submit[0]
    assert starts_of(ticks, order).tolist() == theirs.tolist()


@settings(max_examples=examples(60), deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES, spare=st.integers(0, 40))
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
            assert starts is not None
            assert int(ticks.weight @ starts) == best
            assert starts_of(ticks, np.argsort(starts, kind="stable").tolist()).tolist() == (
                starts.tolist()
            )


@settings(max_examples=examples(40), deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES, spare=st.integers(0, 9))
def test_parts_equal_brute_force(seed: int, objective: str, spare: int) -> None:
    ticks = Ticks.of(crowded(seed, 5, objective))
    best = least_of(ticks)
    packing = priced(ticks, best + spare * int(np.gcd.reduce(ticks.weight)), rounds=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "FIRST", 3)
        patch.setattr(splitting, "LATER", 5)
        search = Splitting(packing)
        assert search.bound <= best
        search.run(now() + 60)
    assert search.known == search.bound == best


def test_prices_by_need_prove_more_where_needs_leave_servers_idle() -> None:
    # Of three jobs that need 3 of 5 servers one runs at a time: 4 + 8 + 12. Prices of a server
    # alone sell the other 2 as well.
    ticks = Ticks.of(queue_of(Jobs.of([0, 0, 0], [3, 3, 3], [4, 4, 4]), 5))
    known = 4 + 8
    alike = PriceSearch(ticks, 24.0, np.array([0, 4, 8, 12]), rounds=300)
    alike.advance(1.0)
    assert alike.bound is not None
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


def test_an_interruption_keeps_the_schedule_in_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(windows, "improved", interrupted)
    queue = queue_of(Jobs.of([0, 0, 0], [3, 3, 3], [4, 2, 9]), 5)
    result = schedopt.solve(Window(queue))
    assert result.termination == "interrupted"
    assert result.violations == ()
    assert result.solution is not None
    assert result.bound is not None
    assert result.bound <= (2 + 6 + 15) / 3 <= (result.objective or 0.0) * (1 + 1e-9)


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
    assert result.solution is not None
    assert (np.array([one.start for one in result.solution.starts]) > jobs.submit).sum() >= 5
