"""Local search for a schedule by dispatching.

A move drops up to three jobs, adds others until the demand is a little more than what was completed
on time, and dispatches all of them. The jobs that are on time are the next set if their reward is
no smaller than before.

Moves depend on the seed alone, not on the clock.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import inf

import numpy as np

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.planned import Floats
from schedopt.solvers.clock import now
from schedopt.solvers.dssp.schedule.dispatch_orders import DispatchOrders, JobMask
from schedopt.solvers.dssp.schedule.processor_numbers import Simulated
from schedopt.solvers.running import Run

MOST_DROPPED = 3
"""Most jobs that a move drops."""
OTHER_ORDER = 0.05
"""Probability that a move takes another order."""


@dataclass
class Incumbent:
    """Jobs to dispatch, or the jobs among them that were on time, and the order of their tasks."""

    jobs: JobMask
    order: int = 0
    worth: float = -1.0
    simulated: Simulated | None = None  # with late jobs


class DispatchSearch:
    """A local search over sets of jobs and the order in which they are dispatched.

    Parameters
    ----------
    orders : DispatchOrders
    satisfies_rules : callable
        Tests whether a set of jobs satisfies all side constraints.
    seed : int
    starts : iterable of ndarray of bool
        Sets of jobs to try first.
    required : ndarray of bool, optional
        Jobs that are in every set.

    Attributes
    ----------
    best : Incumbent or None
        It satisfies the side constraints, once such a set was found.
    fruitless : int
        Moves since the last improvement.
    """

    def __init__(
        self,
        orders: DispatchOrders,
        satisfies_rules: Callable[[JobMask], bool],
        seed: int,
        starts: Iterable[JobMask],
        required: JobMask | None = None,
    ) -> None:
        self.orders, self.satisfies_rules = orders, satisfies_rules
        night = orders.night
        self.required = np.zeros(len(night.jobs), dtype=np.bool_)
        if required is not None:
            self.required |= required & orders.able
        self.draw = np.random.default_rng(seed)
        self.demands = orders.demands
        self.capacity = float(night.machine.total.until(as_written(night.horizon)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.nan_to_num(night.rewards / self.demands, nan=0.0, posinf=1e300)
        self.ratio: Floats = np.log(np.clip(ratio, 1e-300, 1e300))
        self.best: Incumbent | None = None
        self.fruitless = 0
        self._now = Incumbent(np.zeros(len(night.jobs), dtype=np.bool_))
        self._opening = self._opening_moves(starts)

    def move(self) -> None:
        """Make one move, with one dispatch."""
        if next(self._opening, False):
            return
        self.fruitless += 1
        jobs = self._neighbour(self._now.jobs)
        order = self._now.order
        if self.draw.random() < OTHER_ORDER:
            order = int(self.draw.integers(self.orders.count))
        self._dispatch(Incumbent(jobs, order))

    def dispatch_until_paid(self, starts: Iterable[JobMask]) -> None:
        """Dispatch sets to start from, until one has a job that is on time."""
        for start in starts:
            for order in (0, self.orders.count // 2):
                if self.best is not None and self.best.worth > 0:
                    return
                self._dispatch(Incumbent(self._able(start), order))

    def _able(self, jobs: JobMask) -> JobMask:
        """Return the given jobs that can be on time, and all required jobs."""
        return (jobs & self.orders.able) | self.required

    def _opening_moves(self, starts: Iterable[JobMask]) -> Iterator[bool]:
        """Try all jobs once, then the sets to start from in every order.

        The reward of all jobs may exceed a wrong bound.
        """
        self._dispatch(Incumbent(self.orders.able))
        yield True
        for start in starts:
            for order in range(self.orders.count):
                self._dispatch(Incumbent(self._able(start), order))
                yield True

    def _neighbour(self, jobs: JobMask) -> JobMask:
        """Drop a few jobs and add others, mostly of large reward over demand."""
        draw, chosen = self.draw, np.flatnonzero(jobs & ~self.required)
        asked = float(self.demands[jobs].sum())
        wanted = asked + draw.uniform(0.0, max(0.0, self.capacity - asked) / 4)
        kept = jobs.copy()
        count = min(len(chosen), int(draw.integers(0, MOST_DROPPED + 1)))
        if count:
            kept[draw.choice(chosen, count, replace=False)] = False
            kept = self.orders.without_orphans(kept)
        room = wanted - float(self.demands[kept].sum())
        out = np.flatnonzero(~kept & self.orders.able)
        spread = float(draw.choice([0.03, 0.2, 1.0]))
        liked = self.ratio[out] + spread * draw.gumbel(size=len(out))
        for j in out[np.argsort(-liked, kind="stable")].tolist():
            if kept[j] or self.demands[j] > room:
                continue
            added = [i for i in self.orders.with_predecessors(j) if not kept[i]]
            demand = float(self.demands[added].sum())
            if demand <= room:
                kept[added] = True
                room -= demand
        return kept

    def _dispatch(self, tried: Incumbent) -> None:
        """Dispatch a set, and accept its jobs on time if they are no worse."""
        outcome = self.orders.run(tried.jobs, tried.order)
        worth, best = float(outcome.earned.sum()), self.best
        good = worth >= self._now.worth
        if good or best is None:
            sound = self.satisfies_rules(outcome.done)
            kept = Incumbent(outcome.done, tried.order, worth, outcome.simulated)
            if sound and (best is None or worth > best.worth * (1 + 1e-12)):
                self.best, self.fruitless = kept, 0
            if sound or (good and best is None):
                self._now = kept


def search(
    orders: DispatchOrders,
    run: Run,
    *,
    starts: Iterable[JobMask],
    satisfies_rules: Callable[[JobMask], bool],
    required: JobMask | None = None,
    target: float | None = None,
    seconds: float | None = None,
    patience: int = 3_200,
    workers: int = 1,
) -> Incumbent | None:
    """Search until the target or the time limit is reached, or ``patience`` moves had no success.

    ``starts``, ``satisfies_rules`` and ``required`` are as in `DispatchSearch`. Each worker has a
    seed of its own. One worker makes the same moves under any time limit. An interruption ends the
    search and keeps the incumbent.
    """
    stop, best = threading.Event(), None
    until = inf if seconds is None else now() + seconds  # without the seconds for compiling
    seeds = np.random.SeedSequence(run.limits.seed).generate_state(workers).tolist()
    goal = inf if target is None else target * (1 - 1e-12)
    starts, working = list(starts), list[Future[Incumbent | None]]()

    def work(seed: int) -> Incumbent | None:
        try:
            own = DispatchSearch(orders, satisfies_rules, seed, starts, required)
            while own.fruitless < patience and not stop.is_set() and now() < until:
                own.move()
                if own.best is not None and own.best.worth >= goal:
                    stop.set()
            own.dispatch_until_paid(starts)
        except Exception:
            stop.set()
            raise
        return own.best

    def all_workers() -> None:
        with ThreadPoolExecutor(workers) as pool:
            working.extend(pool.submit(work, seed) for seed in seeds)

    run.in_thread(all_workers, stop.set)
    for own in (worker.result() for worker in working):
        if own is not None and (best is None or own.worth > best.worth):
            best = own
    return best
