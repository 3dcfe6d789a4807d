"""FCFS with exponential sizes as a truncated Markov chain, solved as a sparse linear system.

Written for the checker alone: a state says what is in service and, where a job waits, the class of
the first that does and how many wait behind it, whose classes are drawn as each becomes the first.
Where more than some number would wait behind it, arrivals are lost; that number grows until next to
none are. In the saturated system some job always waits behind the first.
"""

from collections.abc import Iterator
from functools import cache
from math import ceil, inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Expected, Instance
from schedopt.validation.msfq.chain import stationary
from schedopt.validation.report import Report

NEAR = 1e-8  # relative tolerance on claimed times
LOST = 1e-12  # the largest part of time in which an arrival may be lost
MOST_STATES = 60_000  # the largest chain that is solved
FEWEST = 32
NOBODY, ENDLESS = -1, -1  # the first in line where none waits; behind it where some always do
Busy = tuple[int, ...]
Floats = NDArray[np.float64]


class State(NamedTuple):
    """Jobs in service by class, the class of the first that waits, and how many are behind it."""

    busy: Busy
    head: int
    behind: int


class Chain:
    """FCFS with at most so many jobs behind the first, or always some."""

    def __init__(self, queue: Instance, most: int) -> None:
        self.classes, self.servers, self.most = queue.classes, queue.servers, most
        self.rate = queue.arrival_rate
        self.settled = cache(self._states_after_starts)

    def fits(self, busy: Busy, kind: int) -> bool:
        """Tell whether a job of a class fits beside those in service."""
        held = sum(job.need * n for job, n in zip(self.classes, busy, strict=True))
        return held + self.classes[kind].need <= self.servers

    def _states_after_starts(self, state: State) -> dict[State, float]:
        """Return the odds of what follows once all that may start have started."""
        busy, head, behind = state
        if head == NOBODY or not self.fits(busy, head):
            return {state: 1.0}
        busy = _with_change(busy, head, 1)
        if not behind:
            return {State(busy, NOBODY, 0): 1.0}
        odds: dict[State, float] = {}
        for kind, job in enumerate(self.classes):
            drawn = State(busy, kind, ENDLESS if behind == ENDLESS else behind - 1)
            for later, part in self.settled(drawn).items():
                odds[later] = odds.get(later, 0.0) + part * job.arrival_rate / self.rate
        return odds

    def transitions(self, state: State) -> Iterator[tuple[float, State]]:
        """Yield the rate of each event, and the state after it."""
        busy, head, behind = state
        for kind, job in enumerate(self.classes):
            if head == NOBODY:
                yield from self._weighted_states(job.arrival_rate, State(busy, kind, 0))
            if busy[kind]:
                after = State(_with_change(busy, kind, -1), head, behind)
                yield from self._weighted_states(busy[kind] * job.service_rate, after)
        if head != NOBODY and ENDLESS < behind < self.most:
            yield self.rate, State(busy, head, behind + 1)

    def _weighted_states(self, rate: float, state: State) -> Iterator[tuple[float, State]]:
        for later, part in self.settled(state).items():
            yield rate * part, later

    def mean_in_service(self, states: list[State], law: Floats) -> Floats:
        """Return the mean number in service of each class, shape (C,)."""
        return np.asarray(law @ np.array([state.busy for state in states]))


def _with_change(busy: Busy, kind: int, by: int) -> Busy:
    return (*busy[:kind], busy[kind] + by, *busy[kind + 1 :])


def check(queue: Instance, solution: Expected, report: Report) -> None:
    """Recompute both the times and the other figures, and add what is wrong to the report."""
    report.expect(solution.method == "exact", f"method: {solution.method} is none of fcfs")
    report.expect(
        abs(solution.utilization - queue.load) <= NEAR,
        f"utilization: {solution.utilization:.9g}, where the load is {queue.load:.9g}",
    )
    report.expect(queue.memoryless, "method: exact, and sizes are not exponential")
    limit = saturated_rate(queue) if queue.memoryless else None
    if limit is None:
        report.unchecked.append(f"limit: recomputed on chains of {MOST_STATES:,} states at most")
    else:
        report.expect(
            abs(solution.limit - limit) <= NEAR * limit,
            f"limit: {solution.limit:.9g}, where {limit:.9g} start in a unit of time at most",
        )
    ours = response_times(queue) if limit is not None else None
    if ours is None:
        report.unchecked.append(f"times: recomputed on chains of {MOST_STATES:,} states at most")
        return
    for job, entry, own in zip(queue.classes, solution.classes, ours.tolist(), strict=True):
        time = entry.mean_response_time
        report.expect(
            time is not None and abs(time - own) <= NEAR * own < inf,
            f"need {job.need}: a mean response time of {time}, where it is {own:.12g}",
        )


def saturated_rate(queue: Instance) -> float | None:
    """Return the completion rate where jobs always wait; None for too many states."""
    chain, needs = Chain(queue, 0), [job.need for job in queue.classes]
    widest = needs.index(max(needs))  # at any time none but these may be drawn for long
    busy = _with_change((0,) * len(needs), widest, queue.servers // max(needs))
    solved = stationary(chain.transitions, [State(busy, widest, ENDLESS)], MOST_STATES)
    if solved is None:
        return None
    rates = np.array([job.service_rate for job in queue.classes])
    return float(chain.mean_in_service(*solved) @ rates)


def response_times(queue: Instance) -> Floats | None:
    """Return the mean response time of each class, None where the chain would be too large."""
    most, rates = FEWEST, np.array([job.arrival_rate for job in queue.classes])
    empty = State((0,) * len(queue.classes), NOBODY, 0)
    while True:
        chain = Chain(queue, most)
        if (solved := stationary(chain.transitions, [empty], MOST_STATES)) is None:
            return None
        states, law = solved
        behind = np.array([state.behind for state in states])
        lost = float(law[behind == most].sum())
        if lost <= LOST:
            break
        most = ceil(most * min(max(1.1 * log(LOST) / log(lost), 1.5), 8.0))
    first = np.bincount(np.array([state.head for state in states]) + 1, law, len(rates) + 1)[1:]
    waiting = first + law @ behind * rates / rates.sum()
    return np.asarray((chain.mean_in_service(states, law) + waiting) / rates)
