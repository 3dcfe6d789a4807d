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


@dataclass(frozen=True)
class MoveParams:
    """Parameters of the moves.

    Attributes
    ----------
    dropped : int
        Most jobs that a move drops.
    restarts : float
        Probability that a move goes back to one of the sets to start from.
    earlier : float
        The largest part of the horizon by which a late job is moved earlier in the order.
    turns : int
        Dispatches of a set to start from without improvement, each with late jobs earlier.
    other_order : float
        Probability that a move takes another order.
    shifted : float
        Probability that a move shifts a few jobs in the order.
    """

    dropped: int = 3
    restarts: float = 0.2
    earlier: float = 0.3
    turns: int = 30
    other_order: float = 0.05
    shifted: float = 0.5


DEFAULTS = MoveParams()


@dataclass
class Incumbent:
    """Jobs to dispatch, or the jobs among them that were on time, and the order of their tasks."""

    jobs: JobMask
    order: int = 0
    shift: Floats | None = None
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
    params : MoveParams, optional

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
        *,
        params: MoveParams = DEFAULTS,
    ) -> None:
        self.orders, self.satisfies_rules, self.params = orders, satisfies_rules, params
        night = orders.night
        self.required = np.zeros(len(night.jobs), dtype=np.bool_)
        if required is not None:
            self.required |= required & orders.able
        self.draw = np.random.default_rng(seed)
        self.demands, self.job_of = orders.demands, night.tasks.job_of_stage
        self.capacity = float(night.machine.total.until(as_written(night.horizon)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.nan_to_num(night.rewards / self.demands, nan=0.0, posinf=1e300)
        self.ratio: Floats = np.log(np.clip(ratio, 1e-300, 1e300))
        self.span = float(night.deadlines.max(initial=night.deadline))
        self.best: Incumbent | None = None
        self.fruitless = 0
        self._opened: list[Incumbent] = []
        self._now = Incumbent(np.zeros(len(night.jobs), dtype=np.bool_))
        self._opening = self._opening_moves(starts)

    def move(self) -> None:
        """Make one move, with one dispatch."""
        if next(self._opening, False):
            return
        self.fruitless += 1
        if self._opened and self.draw.random() < self.params.restarts:
            each = self._opened[self.draw.integers(len(self._opened))]
            self._opening = self._late_jobs_sooner(each.jobs, each.order)
            return
        jobs = self._neighbour(self._now.jobs)
        order, shift = self._now.order, self._now.shift
        if self.draw.random() < self.params.other_order:
            order = int(self.draw.integers(self.orders.count))
        if self.draw.random() < self.params.shifted:
            shift = self._shift_some(jobs, shift)
        self._dispatch(Incumbent(jobs, order, shift))

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
                self._opened.append(Incumbent(self._able(start), order))
                self._dispatch(self._opened[-1])
                yield True

    def _late_jobs_sooner(self, jobs: JobMask, order: int) -> Iterator[bool]:
        """Dispatch a set repeatedly, each time with its late jobs earlier, if they are few."""
        most, idle, shift = -1.0, 0, np.zeros(len(self.job_of))
        while idle < self.params.turns:
            tried = Incumbent(jobs, order, shift)
            late = self._dispatch(tried)
            yield True
            idle = 0 if tried.worth > most else idle + 1
            most = max(most, tried.worth)
            if not late.any() or 4 * late.sum() > jobs.sum():
                return
            most_earlier = self.params.earlier * self.span
            sooner = np.where(late, most_earlier * self.draw.random(len(late)), 0.0)
            shift = shift - sooner[self.job_of]

    def _neighbour(self, jobs: JobMask) -> JobMask:
        """Drop a few jobs and add others, mostly of large reward over demand."""
        draw, chosen = self.draw, np.flatnonzero(jobs & ~self.required)
        asked = float(self.demands[jobs].sum())
        wanted = asked + draw.uniform(0.0, max(0.0, self.capacity - asked) / 4)
        kept = jobs.copy()
        count = min(len(chosen), int(draw.integers(0, self.params.dropped + 1)))
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

    def _shift_some(self, jobs: JobMask, shift: Floats | None) -> Floats:
        """Move a few jobs later or earlier in the order."""
        shifted = np.zeros(len(self.job_of)) if shift is None else shift.copy()
        draw, chosen, first = self.draw, np.flatnonzero(jobs), self.orders.night.tasks.first_stage
        count = min(len(chosen), int(draw.integers(1, 4)))
        for j in draw.choice(chosen, count, False).tolist() if count else ():
            stages = slice(first[j], first[j + 1])
            shifted[stages] = self.span * draw.normal(0.0, draw.choice([0.02, 0.1, 0.5]))
        return shifted

    def _dispatch(self, tried: Incumbent) -> JobMask:
        """Dispatch a set, accept its jobs on time if they are no worse, and return the late jobs.

        The attribute ``worth`` of ``tried`` is set.
        """
        outcome = self.orders.run(tried.jobs, tried.order, tried.shift)
        tried.worth, best = float(outcome.earned.sum()), self.best
        good = tried.worth >= self._now.worth
        if good or best is None:
            sound = self.satisfies_rules(outcome.done)
            kept = Incumbent(outcome.done, tried.order, tried.shift, tried.worth, outcome.simulated)
            if sound and (best is None or tried.worth > best.worth * (1 + 1e-12)):
                self.best, self.fruitless = kept, 0
            if sound or (good and best is None):
                self._now = kept
        return tried.jobs & ~outcome.done


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
