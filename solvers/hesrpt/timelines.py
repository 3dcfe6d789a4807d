"""Arrivals: a tree over timelines, or the programs of all of them."""

from collections.abc import Mapping
from math import fsum, inf

import msgspec
import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import (
    Rules,
    Timeline,
    bounds_of,
    count_timelines,
    smiths_order,
    without_floors,
)
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.clock import now
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.hesrpt.alike import MANY, alike
from schedopt.solvers.hesrpt.attempt import MOST_PROGRAMS, STEP, Attempt, attempted
from schedopt.solvers.hesrpt.feasible import possible_timelines, servable
from schedopt.solvers.hesrpt.kernels import curves
from schedopt.solvers.hesrpt.orders import OneOrder, OrderTree, order_search
from schedopt.solvers.hesrpt.price_kernels import begun, play_some
from schedopt.solvers.hesrpt.programs import solve_program
from schedopt.solvers.hesrpt.rents import RentSearch
from schedopt.solvers.hesrpt.tree_kernels import (
    BACK,
    NEAR,
    PAUSED,
    Late,
    cost_of_played,
    explore,
    no_paths,
    open_bound,
    open_leaves,
    tree,
)
from schedopt.solvers.result import Result, Termination

MOST_LEAVES = 20_000
WORK = 12_800
"""Nodes times jobs squared between two looks at the clock."""
FIRST, MOST_NODES = 200, 20_000
"""Nodes that are explored before the first look at the leaves, and between two looks at most."""
BOUNDING = 5.0
"""Seconds for a bound on all timelines."""
FEW_LEAVES = 20
"""Timelines, of the least bounds, among which one is tried between two looks at the clock."""


def as_played(instance: Instance, ends: Mapping[str, float]) -> Timeline:
    """Return the order from the last to complete, and how many had completed at each arrival."""
    names = sorted(ends, key=lambda name: ends[name])
    arrived = {
        job.name: sum(end <= job.arrival for end in ends.values())
        for job in instance.jobs
        if job.arrival > 0
    }
    return [instance.index[name] for name in reversed(names)], arrived


def each_alone(instance: Instance) -> float:
    """Return what it costs if each job has all servers from its arrival on."""
    everyone = np.arange(len(instance.jobs))
    every = np.full(len(everyone), float(instance.servers))
    each = instance.sizes / instance.each("at", everyone, every)
    if instance.objective == "makespan":
        return float((instance.arrivals + each).max())
    return fsum((instance.costs * each).tolist())


def without_arrivals(instance: Instance, seconds: float) -> float:
    """Return a bound for jobs that arrive: all present from the start, less the cost of waiting."""
    alone = each_alone(instance)
    if instance.objective == "makespan":
        return alone
    jobs = tuple(msgspec.structs.replace(job, arrival=0.0) for job in instance.jobs)
    early = msgspec.structs.replace(instance, jobs=jobs, constraints=())
    search: OneOrder | OrderTree | RentSearch = order_search(early)
    if isinstance(search, OrderTree) and len(jobs) >= MANY:
        search = RentSearch(early)
    search.advance(seconds)
    return float(max(alone, search.bound - fsum((instance.costs * instance.arrivals).tolist())))


class TimelineSearch:
    """Find the least cost of jobs that arrive while others run, over all timelines; anytime.

    Where side constraints ask for more than prices see, what is played is no incumbent; where not
    all jobs can be there together, floors are not seen. Set `value` where a better solution is
    found elsewhere.
    """

    name = "timelines"

    def __init__(self, instance: Instance, rules: Rules | None = None) -> None:
        self.instance = instance
        rules, count = rules or Rules(instance), len(instance.jobs)
        bounds = bounds_of(rules, count)
        together = servable(rules.bounds, range(count))
        if not together:
            none = np.zeros_like
            bounds = bounds._replace(
                leasts=none(bounds.leasts), team_leasts=none(bounds.team_leasts)
            )
        self._curves = curves(instance, bounds)
        starts = np.unique(np.append(0.0, instance.arrivals))
        groups = np.searchsorted(starts, instance.arrivals).astype(np.int64)
        after = alike(instance, rules)
        playable, paths = together and bounds.whole, no_paths(count)
        self._late = Late(instance.sizes, instance.costs, starts, groups, after, playable, paths)
        self._tree = tree(count, len(starts), MOST_LEAVES)
        self._tree.found[:] = instance.costs / instance.each(
            "at", np.arange(count), np.full(count, self._curves.servers)
        )
        self.value = inf
        if playable:
            self.value = float(cost_of_played(self._curves, self._late, self._tree.found))
        self._nodes = FIRST

    @property
    def nodes(self) -> int:
        """How many nodes have been explored."""
        return int(self._tree.numbers[2])

    def advance(self, seconds: float) -> bool:
        """Explore some nodes, for about that long at most; tell whether the search has ended."""
        until, searched = now() + seconds, self._tree
        searched.best[0] = self.value
        status, left = PAUSED, self._nodes
        while status == PAUSED and left > 0 and now() < until:
            some = min(left, max(1, WORK // len(self.instance.jobs) ** 2))
            status = explore(self._curves, self._late, searched, some)
            left -= some
        self._nodes = min(2 * self._nodes, MOST_NODES)
        self.value = float(searched.best[0])
        return bool(status != PAUSED)

    @property
    def rest(self) -> float:
        """A bound on what is neither explored nor among the leaves; infinite at the end."""
        return float(open_bound(self._tree))

    @property
    def bound(self) -> float:
        """What every timeline costs at least, as far as is proven."""
        return min([self.rest, *(bound for bound, _ in self.leaves()[:1]), self.value])

    def leaves(self) -> list[tuple[float, Timeline]]:
        """Return (bound, timeline) of those that could still be better, the least bound first."""
        leaves = open_leaves(self._tree, self.value * (1 - NEAR))
        return [(bound, self._timeline(leaf.tolist())) for bound, leaf in leaves]

    def _timeline(self, placed: list[int]) -> Timeline:
        """Return the order from the last, and how many complete before each arrival."""
        order = [j for j in placed if j != BACK]
        arrived: dict[str, int] = {}
        group, completed = 0, 0
        for j in reversed(placed):
            if j != BACK:
                completed += 1
                continue
            group += 1
            for i in np.flatnonzero(self._late.groups == group):
                arrived[self.instance.jobs[i].name] = completed
        return order, arrived

    def solution(self) -> Allocated:
        """Return what playing the best prices makes."""
        late, lam = self._late, self._tree.found
        most = len(late.sizes) + len(late.starts)
        play = begun(self._curves, late.sizes, late.starts, np.zeros((most, len(late.sizes))))
        play_some(self._curves, lam, late.starts, late.groups, play, most)
        times = play.times[: play.at[0]].tolist()
        epochs, start = [], 0.0
        for end, row in zip(times, play.record, strict=False):
            jobs = np.flatnonzero(row)
            epochs.append((start, end, jobs, row[jobs]))
            start = end
        return allocated(self.instance, play.ends, epochs)


def solve(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Solve an allocation with arrivals by a tree over timelines, and by programs of some."""
    return attempted(model, task, "timelines", _by_tree)


def _by_tree(attempt: Attempt) -> Termination:
    """Branch and bound over timelines; solve the programs of those that prices do not close."""
    search = TimelineSearch(attempt.instance, attempt.model.rules)
    tried, done = set[str](), False
    start = attempt.task.heuristic()
    if start is not None:
        attempt.take(start, None)
        if attempt.has_time_for_a_program():
            attempt.take_program(*as_played(attempt.instance, start.completion))
    if search.value < attempt.value:
        attempt.take(search.solution(), "timelines")
    attempt.raise_to(each_alone(attempt.instance) * (1.0 - NEAR), "timelines")
    while not done and not attempt.out_of_time():
        known = search.value = min(search.value, attempt.value)
        left = attempt.left()
        done = search.advance(STEP if left is None else max(min(STEP, left), 0.0))
        if search.value < known:
            attempt.take(search.solution(), "timelines")
        fresh = [leaf for leaf in search.leaves()[:FEW_LEAVES] if str(leaf[1]) not in tried]
        # A program is slow: one is solved now and then, for what it finds.
        if fresh and not done and attempt.has_time_for_a_program():
            tried.add(str(fresh[0][1]))
            attempt.take_program(*fresh[0][1])
        attempt.raise_to(min(search.bound, attempt.value), "timelines")
        attempt.note()
    if attempt.near_enough() or not done:
        return attempt.ended()
    return attempt.over_programs(search.leaves(), attempt.bound, min(search.rest, search.value))


def over_timelines(attempt: Attempt) -> Termination:
    """Solve the programs of all timelines, where there are few enough: else of some.

    Where nobody must have anything, those who are done may as well stay: then the least makespan is
    that of the timeline in which all complete after the last arrival.
    """
    model, instance = attempt.model, attempt.instance
    last: Timeline = smiths_order(instance).tolist(), {}
    free = all(bound.at_least <= 0.0 for bound in model.rules.bounds)
    alone = instance.objective == "makespan" and not model.given
    if alone and free:
        return attempt.over_programs([(each_alone(instance), last)], each_alone(instance))
    left = attempt.left()
    floor = without_arrivals(instance, BOUNDING if left is None else min(BOUNDING, left))
    if alone and not attempt.out_of_time():
        program = model.ordered(*last)
        program.rules = without_floors(program.rules)
        floor = max(floor, solve_program(program, attempt.left()).bound or 0.0)
    attempt.raise_to(floor, attempt.name)
    order = model.last_first.tolist() if model.given else None
    start = None if model.given else attempt.task.heuristic()  # a policy keeps no order
    if start is not None:
        attempt.take(start, None)
    many = order is None and count_timelines(instance) > MOST_PROGRAMS
    if many and attempt.has_time_for_a_program():
        ends = _guessed(instance) if start is None else start.completion
        attempt.take_program(*as_played(instance, ends))
    every = possible_timelines(model, model.rules.names)
    return attempt.over_programs(((floor, timeline) for timeline in every), floor)


def _guessed(instance: Instance) -> dict[str, float]:
    """Return about when jobs complete: at even shares from their arrivals on."""
    count = len(instance.jobs)
    even = np.full(count, instance.servers / count)
    ends = instance.arrivals + instance.sizes / instance.each("at", np.arange(count), even)
    return {job.name: end for job, end in zip(instance.jobs, ends.tolist(), strict=True)}
