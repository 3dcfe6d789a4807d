"""The search for a schedule: one simulated annealing for each worker, until time or ideas run out.

A move drops up to three jobs, fills the machine up again with others, a little beyond what was done
in time, and dispatches them all. The jobs in time are kept if they earn as much as before, or
nearly so; the tolerance falls over a round of moves, and every round begins with the best so far
(Kirkpatrick, Gelatt and Vecchi, Science 220, 1983).

All is drawn from the seed, and no move looks at a clock: the same seed makes the same moves.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

import numpy as np

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.clock import now
from schedopt.solvers.dssp.schedule.dispatch_orders import DispatchOrders, JobMask
from schedopt.solvers.dssp.schedule.processor_numbers import Simulated
from schedopt.solvers.running import Run

DROPPED: Final = 3
"""Jobs that a move drops at most."""

ROUND: Final = 800
"""Moves of a round."""

WARM, COLD = 2e-3, 1e-5
"""Relative loss accepted at the start and at the end of a round."""

PUSH = 0.3
"""The largest part of the night by which a job that was late is moved earlier in the order."""

STAGES = 0.5
"""Share of jobs of which a single stage is moved."""

PUSHED = 0.05
"""Share of moves that begin such a row of dispatches from the best."""

TURNS, AGAIN = 30, 3
"""Dispatches of a set, each with late jobs sooner, without success; and those of a move."""

WHEELS = 3
"""How many sets to start from are pushed so, in each order."""

UNDER, OVER = -0.002, 0.012
"""How much less or more capacity a move asks for than was completed in time before.

Where much is idle, up to a quarter of that more.
"""


@dataclass
class Incumbent:
    """Jobs that were in time all_workers, and the order of their tasks."""

    worth: float
    jobs: JobMask
    order: int = 0
    shift: Floats | None = None
    played: Simulated | None = None  # with jobs that were late
    asked: JobMask | None = None  # these too


class Annealing:
    """A search by moves.

    Sums over the selected jobs, by coefficient, must not exceed `caps`; `keeps` tells whether a set
    of jobs satisfies all side constraints. `starts` are sets of jobs to try first.
    `fruitless` counts the moves since the best was found.
    """

    def __init__(
        self,
        orders: DispatchOrders,
        caps: Sequence[tuple[Floats, float]],
        keeps: Callable[[JobMask], bool],
        seed: int,
        starts: Iterable[JobMask],
    ) -> None:
        self.orders, self.keeps = orders, keeps
        night = orders.night
        self.draw = np.random.default_rng(seed)
        self.demands, self.job_of = orders.demands, night.tasks.job_of_stage
        self.capacity = float(night.machine.total.until(as_written(night.horizon)))
        rows = [coefficients for coefficients, _ in caps]
        self.caps = np.array(rows).reshape(len(rows), len(night.jobs))
        self.rooms = np.array([room for _, room in caps])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.nan_to_num(night.rewards / self.demands, nan=0.0, posinf=1e300)
        self.ratio: Floats = np.log(np.clip(ratio, 1e-300, 1e300))
        self.span = float(night.deadlines.max(initial=night.deadline))
        self.best: Incumbent | None = None
        self.moves = self.fruitless = 0
        self.now = Incumbent(-1.0, np.zeros(len(night.jobs), dtype=np.bool_))
        self._opened: list[Incumbent] = []
        self._opening = self._opening_moves(starts)
        self._sooner_moves: Iterator[bool] = iter(())

    def move(self) -> None:
        """Make one move: dispatch once."""
        if next(self._opening, False) or next(self._sooner_moves, False):
            return
        step = self.moves % ROUND
        if step == 0 and self.best is not None:
            self.now = self.best
        self.moves += 1
        self.fruitless += 1
        if self.best is not None and self.best.asked is not None and self.draw.random() < PUSHED:
            jobs = self.best.asked
            if self.draw.random() < 0.5:
                jobs = self._neighbour(jobs)
            moved = self._shift_some(jobs, self.best.shift)
            self._sooner_moves = self._late_jobs_sooner(jobs, self.best.order, moved)
            return
        jobs = self._neighbour(self.now.jobs)
        order, shift = self.now.order, self.now.shift
        if self.draw.random() < 0.05:
            order = int(self.draw.integers(self.orders.count))
        if self.draw.random() < 0.5:
            shift = self._shift_some(jobs, shift)
        warmth = WARM * (COLD / WARM) ** (step / ROUND)
        for _ in range(AGAIN):
            now = self.now
            late = self._dispatch(Incumbent(0.0, jobs, order, shift), warmth)
            if self.now is not now or not late.any():
                return
            shift = self._shift_sooner(late, shift)

    def _opening_moves(self, starts: Iterable[JobMask]) -> Iterator[bool]:
        """Try sets to start from in every order, then push the first of them."""
        for start in starts:
            jobs = start & self.orders.able
            for order in range(self.orders.count):
                self._opened.append(Incumbent(0.0, jobs, order))
                self._dispatch(self._opened[-1], 0.0)
                yield True
        for each in self._opened[: WHEELS * self.orders.count]:
            yield from self._late_jobs_sooner(each.jobs, each.order)

    def probe(self) -> None:
        """Dispatch all jobs once, whatever the bound: what beats it refutes it."""
        self._dispatch(Incumbent(0.0, self.orders.able, 0), 0.0)

    def dispatch_until_paid(self, starts: Iterable[JobMask]) -> None:
        """Dispatch starting sets, one by one, until some jobs of one are in time."""
        for start in starts:
            for order in (0, self.orders.count // 2):
                if self.best is not None and self.best.worth > 0:
                    return
                self._dispatch(Incumbent(0.0, start & self.orders.able, order), 0.0)

    def _late_jobs_sooner(
        self, jobs: JobMask, order: int, shift: Floats | None = None
    ) -> Iterator[bool]:
        """Dispatch some jobs again and again, each time with late ones sooner, if few."""
        most, idle = -1.0, 0
        while idle < TURNS:
            tried = Incumbent(0.0, jobs, order, shift)
            late = self._dispatch(tried, 0.0)
            yield True
            idle = 0 if tried.worth > most else idle + 1
            most = max(most, tried.worth)
            if not late.any() or 4 * late.sum() > jobs.sum():
                return
            shift = self._shift_sooner(late, shift)

    def _shift_sooner(self, late: JobMask, shift: Floats | None) -> Floats:
        """Move jobs earlier in the order, each by some part of the night."""
        sooner = np.where(late, PUSH * self.span * self.draw.random(len(late)), 0.0)
        return (0.0 if shift is None else shift) - sooner[self.job_of]

    def _neighbour(self, jobs: JobMask) -> JobMask:
        """Drop up to a few jobs, mostly of little reward for their demand, and fill up again."""
        draw, there = self.draw, np.flatnonzero(jobs)
        asked = float(self.demands[there].sum())
        over = max(OVER * self.capacity, (self.capacity - asked) / 4)
        wanted = min(self.capacity, asked + draw.uniform(UNDER * self.capacity, over))
        kept = jobs.copy()
        count = min(len(there), int(draw.integers(0, DROPPED + 1)))
        if count:
            likely = None
            if draw.random() < 0.5:
                ratio = self.ratio[there]
                weights = np.exp((ratio.min() - ratio) / max(float(ratio.std()), 1e-9))
                likely = weights / weights.sum() * (1 - 1e-6) + 1e-6 / len(there)
                likely /= likely.sum()
            kept[draw.choice(there, count, replace=False, p=likely)] = False
            kept = self.orders.closed(kept)
        left = wanted - float(self.demands[kept].sum())
        rooms = self.rooms - self.caps @ kept if len(self.rooms) else self.rooms
        out = np.flatnonzero(~kept & self.orders.able)
        spread = float(draw.choice([0.03, 0.2, 1.0]))
        liked = self.ratio[out] + spread * draw.gumbel(size=len(out))
        for j in out[np.argsort(-liked, kind="stable")].tolist():
            if kept[j] or self.demands[j] > left:
                continue
            added = [i for i in self.orders.needed(j) if not kept[i]]
            demand, use = float(self.demands[added].sum()), self.caps[:, added].sum(axis=1)
            if demand <= left and (not len(rooms) or bool((use <= rooms).all())):
                kept[added] = True
                left -= demand
                rooms = rooms - use
        return kept

    def _shift_some(self, jobs: JobMask, shift: Floats | None) -> Floats:
        """Move a few jobs, or stages of them, later or earlier in the order."""
        shifted = np.zeros(len(self.job_of)) if shift is None else shift.copy()
        draw, there, first = self.draw, np.flatnonzero(jobs), self.orders.night.tasks.first_stage
        count = min(len(there), int(draw.integers(1, 4)))
        for j in draw.choice(there, count, False).tolist() if count else ():
            begin, end = first[j], first[j + 1]
            if draw.random() < STAGES:
                begin = draw.integers(begin, end)
                end = begin + 1
            shifted[begin:end] = self.span * draw.normal(0.0, draw.choice([0.02, 0.1, 0.5]))
        return shifted

    def _dispatch(self, tried: Incumbent, warmth: float) -> JobMask:
        """Dispatch, keep the jobs in time if they are good enough, and return those that were late.

        The worth of what was tried is set.
        """
        outcome = self.orders.run(tried.jobs, tried.order, tried.shift)
        tried.worth, done = float(outcome.earned.sum()), outcome.done
        late = tried.jobs & ~done
        least = self.now.worth + warmth * self.now.worth * np.log(max(self.draw.random(), 1e-300))
        better = self.best is None or tried.worth > self.best.worth * (1 + 1e-12)
        if tried.worth < least and not better:
            return late
        changed = not np.array_equal(done, self.now.jobs)
        sound = (self.best is None or changed) and self.keeps(done)
        if changed and not sound and self.best is not None:
            return late
        kept = Incumbent(tried.worth, done, tried.order, tried.shift)
        if better and sound:
            kept.played, kept.asked = outcome.played, tried.jobs
            self.best, self.fruitless = kept, 0
        self.now = kept
        return late


class FoundSchedule(NamedTuple):
    """The best schedule that a search has found."""

    worth: float  # its reward
    jobs: Ints  # positions of the jobs that it completes
    played: Simulated
    moves: int  # of all workers


def search(
    orders: DispatchOrders,
    run: Run,
    *,
    starts: Iterable[JobMask],
    keeps: Callable[[JobMask], bool],
    caps: Sequence[tuple[Floats, float]] = (),
    target: float | None = None,
    seconds: float | None = None,
    patience: int = 3_200,
    workers: int = 1,
) -> FoundSchedule | None:
    """Search until the target is met, time is over, or `patience` moves were of no use.

    `starts` are sets of jobs to try first. `keeps` tells whether a set of jobs satisfies all side
    constraints; `caps` are those of them, sums by coefficient with an upper bound, that a move can
    look at beforehand. Each worker has a seed of its own; one worker makes the same moves each
    time, however long it is given. An interruption ends the search and keeps what it found.
    """
    stop = threading.Event()
    until = inf if seconds is None else now() + seconds  # compiling is not searching
    seeds = np.random.SeedSequence(run.limits.seed).generate_state(workers).tolist()
    starts, searches = list(starts), list[Annealing]()
    failed: list[Exception] = []

    def work(seed: int) -> None:
        try:
            annealing = Annealing(orders, caps, keeps, seed, starts)
            searches.append(annealing)
            annealing.probe()
            while annealing.fruitless < patience and not stop.is_set() and now() < until:
                best = annealing.best
                if best and target is not None and best.worth >= target * (1 - 1e-12):
                    stop.set()
                    break
                annealing.move()
            annealing.dispatch_until_paid(starts)
        except Exception as error:  # noqa: BLE001 - raised again by whoever asked
            failed.append(error)
            stop.set()

    def all_workers() -> None:
        others = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in seeds[1:]]
        for thread in others:
            thread.start()
        work(seeds[0])
        for thread in others:
            thread.join()

    run.in_thread(all_workers, stop.set)
    if failed:
        raise failed[0]
    moves = sum(annealing.moves for annealing in searches)
    sound = [a.best for a in searches if a.best is not None]
    best = max(sound, key=lambda incumbent: incumbent.worth, default=None)
    if best is None or best.played is None:
        return None
    return FoundSchedule(best.worth, np.flatnonzero(best.jobs), best.played, moves)
