"""The search for a schedule: one annealing for each worker, until time or ideas run out."""

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.dssp.schedule.annealing import Annealing
from schedopt.solvers.dssp.schedule.frontier import Frontier
from schedopt.solvers.dssp.schedule.trial import Mask, Trials
from schedopt.solvers.running import Run


class FoundSchedule(NamedTuple):
    """The best schedule that a search has found; tasks of its jobs have finite starts."""

    worth: float  # its reward
    jobs: Ints  # positions of the jobs that it completes
    starts: Floats  # (tasks,)
    moves: int  # of all workers


@cache
def compile_kernels(held: bool) -> None:
    """Run a tiny trial, with releases if `held`, so that compiling is not counted as searching."""
    jobs = [Job(name=f"j{i}", reward=1.0, release=float(held), stages=((1.0,),)) for i in range(2)]
    night = Instance(name="compiled", processors=1, deadline=4.0, jobs=tuple(jobs))
    trials = Trials(night, ())
    for order in range(0, trials.orders, 2):
        trials.run(trials.able, order, None)
    Frontier(night, trials.able).best(1.0)


def search(
    night: Instance,
    run: Run,
    *,
    starts: Iterable[Mask],
    keeps: Callable[[Mask], bool],
    caps: Sequence[tuple[Floats, float]] = (),
    seats: Sequence[Seats] = (),
    target: float | None = None,
    seconds: float | None = None,
    patience: int = 3_200,
    workers: int = 1,
    trials: Callable[[], Trials] | None = None,
) -> FoundSchedule | None:
    """Search until the target is met, time is over, or `patience` moves were of no use.

    `starts` are sets of jobs to try first. `keeps` tells whether a set of jobs satisfies all side
    constraints; `caps` are those of them, sums by coefficient with an upper bound, that a move can
    look at beforehand. `trials` makes what dispatches, if not as planned. Each worker has a seed of
    its own; one worker makes the same moves each time, however long it is given. An interruption
    ends the search and keeps what it found.
    """
    stop = threading.Event()
    seeds = np.random.SeedSequence(run.limits.seed).generate_state(workers).tolist()
    starts, made = list(starts), list[Annealing]()
    compile_kernels(bool(seats) or bool((night.releases > 0).any()))
    failed: list[Exception] = []

    def work(seed: int) -> None:
        try:
            made_of = Trials(night, seats) if trials is None else trials()
            annealing = Annealing(made_of, caps, keeps, seed, starts)
            made.append(annealing)
            while annealing.fruitless < patience and not stop.is_set():
                best = annealing.best
                if best and target is not None and best.worth >= target * (1 - 1e-12):
                    stop.set()
                    break
                annealing.move()
            annealing.first(starts)
        except Exception as error:  # noqa: BLE001 - raised again by whoever asked
            failed.append(error)
            stop.set()

    def together() -> None:
        clock = threading.Timer(seconds, stop.set) if seconds is not None else None
        others = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in seeds[1:]]
        for thread in ([clock] if clock else []) + others:
            thread.start()
        work(seeds[0])
        for thread in others:
            thread.join()
        if clock is not None:
            clock.cancel()

    run.in_thread(together, stop.set)
    if failed:
        raise failed[0]
    moves = sum(annealing.moves for annealing in made)
    sound = [(a.best.worth, a.best.jobs, a.starts) for a in made if a.best is not None]
    if not sound:
        return None
    worth, jobs, begin = max(sound, key=lambda found: found[0])
    return FoundSchedule(worth, np.flatnonzero(jobs), begin, moves)
