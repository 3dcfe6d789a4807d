"""The constraints of the machine on a schedule in CP-SAT: processors and resources over time.

A profile of processors is cut into blocks, which cumulative constraints model exactly. A block is a
profile that, while it is positive, never rises before it falls. On a block, tasks of which never
more run than there are processors can each keep their processors until they end, and any profile is
a sum of blocks; the proof is in ``docs/problems/dssp-bound.md``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count, groupby, pairwise
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Any, NamedTuple

from schedopt.formulations.dssp.grid import LARGEST, Grid
from schedopt.instances.decimals import as_written, lowest
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.machine import Steps

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from schedopt.formulations.protocol import Value, Variable


@dataclass
class TaskVariables:
    """The CP-SAT variables of jobs, and of the tasks that have a length.

    Attributes
    ----------
    model : cp_model.CpModel
        The model.
    x : list of IntVar, shape (jobs,)
        Whether each job runs.
    starts : list, shape (all tasks,)
        The start of each task, in units of the grid; 0 for tasks without a length.
    ends : list, shape (jobs,)
        The completion time of each job, in units.
    intervals, job_of, task_of : list, shape (tasks with a length,)
        The interval, the job and the position of each task with a length.
    """

    model: cp_model.CpModel
    x: list[cp_model.IntVar]
    starts: list[Any]
    ends: list[Any]
    intervals: list[cp_model.IntervalVar] = field(default_factory=list)
    job_of: list[int] = field(default_factory=list)
    task_of: list[int] = field(default_factory=list)


@dataclass
class CapacityProfile:
    """An amount over time, in integer units, and what tasks take of it.

    Attributes
    ----------
    available : Steps
        The amount over time.
    demands : dict
        What each task takes if it runs here, by its place among the intervals.
    literals : dict
        Whether a task takes anything; without a literal it does if its job runs.
    numbers : sequence of int
        The numbers of the processors, if the amount is one of processors.
    """

    available: Steps
    demands: dict[int, Any]
    literals: dict[int, Variable] = field(default_factory=dict)
    numbers: Sequence[int] = range(0)

    def band(self, low: int, high: int) -> Steps:
        """Return the amount above one level and up to another."""
        return self.available.map_amounts(
            lambda amount: min(max(amount, Fraction(low)), Fraction(high)) - low
        )

    def taken(self, value: Value) -> dict[int, int]:
        """Return the amounts that tasks take in a solution, if their jobs run."""
        numbers = {k: y if isinstance(y, int) else round(value(y)) for k, y in self.demands.items()}
        absent = {k for k, literal in self.literals.items() if value(literal) < 0.5}
        return {k: number for k, number in numbers.items() if number and k not in absent}


class MachineCapacity:
    """The constraints of the machine on tasks, and the processors that tasks get in a solution.

    Attributes
    ----------
    exact : bool
        Whether amounts of resources are exact in integers; otherwise they are rounded safely.
    """

    def __init__(self, night: Instance, grid: Grid, tasks: TaskVariables) -> None:
        self.night, self.grid, self.tasks, self.model = night, grid, tasks, tasks.model
        self.exact = True
        self._blocks: list[CapacityProfile] = []
        self._optional: dict[tuple[int, int], cp_model.IntervalVar] = {}

    def add_pools(self) -> None:
        """Choose a pool for each task; tasks that run together fit into their pool."""
        machine, job_of = self.night.machine, self.tasks.job_of
        width = [self.night.jobs[j].processors for j in job_of]
        literals: dict[str, dict[int, Variable]] = {name: {} for name in machine.pools}
        for k, j in enumerate(job_of):
            pools, x = machine.of_job(self.night.jobs[j]), self.tasks.x[j]
            own = [x]
            if len(pools) > 1:
                own = [self.model.new_bool_var(f"{k} on {pool}") for pool in pools]
                self.model.add(sum(own) == x)
            for name, literal in zip(pools, own, strict=True):
                literals[name][k] = literal
        for name, available in machine.pools.items():
            demands = {k: width[k] for k in literals[name]}
            whole = CapacityProfile(self._in_integers(available), demands, literals[name])
            whole.available = whole.band(0, sum(demands.values()))
            blocks = self._blocks_of(name, whole)
            self._add_cumulative(whole)
            if len(blocks) > 1:
                self._distribute(whole, blocks)
            self._blocks += blocks

    def _blocks_of(self, pool: str, whole: CapacityProfile) -> list[CapacityProfile]:
        machine = self.night.machine
        if machine.away:  # single processors are down
            layers = [layer for layer in machine.layers if layer.pool == pool]
            parts = [(self._in_integers(layer.there), layer.numbers) for layer in layers]
        else:
            levels = [*block_levels(map(int, whole.available.amounts)), int(whole.available.most)]
            cuts = [*levels[:-1], max(levels[-1], int(machine.pools[pool].most))]
            parts = [
                (whole.band(low, high), machine.numbers[pool][first:after])
                for (low, high), (first, after) in zip(
                    pairwise(levels), pairwise(cuts), strict=True
                )
            ]
        return [
            CapacityProfile(part, dict(whole.demands), whole.literals, numbers)
            for part, numbers in parts
        ]

    def _distribute(self, whole: CapacityProfile, blocks: Sequence[CapacityProfile]) -> None:
        """Split the processors of each task among the blocks of its pool."""
        for b, block in enumerate(blocks):
            for k, width in whole.demands.items():
                most = min(width, int(block.available.most))
                block.demands[k] = self.model.new_int_var(0, most, f"{k} from {b}")
            self._add_cumulative(block)
        for k, literal in whole.literals.items():
            taken = sum(block.demands[k] for block in blocks)
            self.model.add(taken == whole.demands[k] * literal)

    def add_resources(self) -> None:
        """Tasks that run together hold no more of a resource than there is."""
        for name, available in self.night.machine.resources.items():
            of_job = [as_written(job.holds.get(name, 0.0)) for job in self.night.jobs]
            held = {k: of_job[j] for k, j in enumerate(self.tasks.job_of)}
            unit = lowest([*held.values(), *available.amounts])[1]
            if available.most * unit > LARGEST:  # larger units, rounded to be on the safe side
                unit = Fraction(LARGEST, ceil(available.most))
                self.exact = False
            demands = {k: min(ceil(use * unit), LARGEST) for k, use in held.items() if use}
            self._add_cumulative(CapacityProfile(self._in_integers(available, unit), dict(demands)))

    def add_job_limits(self) -> None:
        """Tasks of one job that run together take no more than its most processors."""
        tasks_of: dict[int, dict[int, int]] = {}
        for k, j in enumerate(self.tasks.job_of):
            tasks_of.setdefault(j, {})[k] = self.night.jobs[j].processors
        for j, demands in tasks_of.items():
            if (most := self.night.jobs[j].max_processors) is not None:
                self._add_cumulative(CapacityProfile(Steps.of(most), dict(demands)))

    def _add_cumulative(self, profile: CapacityProfile) -> None:
        """State that tasks that run together take no more than there is."""
        if not profile.demands:
            return
        most, last = profile.available.most, self.grid.horizon + 1
        intervals = [self._interval(k, profile.literals.get(k)) for k in profile.demands]
        sizes = [*profile.demands.values()]
        for start, end, amount in profile.available.spans():
            if amount < most:
                long = int((last if end is None else end) - start)
                absent = self.model.new_fixed_size_interval_var(int(start), long, f"away[{start}]")
                intervals.append(absent)
                sizes.append(int(most - amount))
        self.model.add_cumulative(intervals, sizes, int(most))

    def _interval(self, k: int, literal: Variable | None) -> cp_model.IntervalVar:
        """Return the interval of a task that is present if a literal, or its job's, is true."""
        tasks, i = self.tasks, self.tasks.task_of[k]
        if literal is None or literal is tasks.x[tasks.job_of[k]]:
            return tasks.intervals[k]
        key = k, literal.index
        if key not in self._optional:
            self._optional[key] = self.model.new_optional_fixed_size_interval_var(
                tasks.starts[i], int(self.grid.lengths[i]), literal, f"task[{i}] on a pool"
            )
        return self._optional[key]

    def _in_integers(self, available: Steps, unit: int | Fraction = 1) -> Steps:
        """Return an amount in integers over units of time, rounded down within each unit."""
        scale, last = Fraction(self.grid.scale), Fraction(self.grid.horizon + 1)
        spans = [
            (
                floor(min(last, start * scale)),
                ceil(last if end is None else min(last, end * scale)),
                floor(amount * unit),
            )
            for start, end, amount in available.spans()
        ]
        times = sorted({time for a, b, _ in spans for time in (a, b)})
        least = [floor(available.most * unit)] * (len(times) - 1)
        for a, b, amount in spans:
            for i in range(bisect_left(times, a), bisect_left(times, b)):
                least[i] = min(least[i], amount)
        return Steps(tuple(map(Fraction, times[:-1])), tuple(map(Fraction, least)))

    def processors(
        self, value: Value, run: set[int], begin: Sequence[int]
    ) -> Mapping[int, Sequence[int]]:
        """Return the processors of each task in a solution.

        Parameters
        ----------
        value : callable
            The value of each variable.
        run : set of int
            The jobs that run.
        begin : sequence of int
            The start of each task, in units.
        """
        on: dict[int, tuple[int, ...]] = {}
        for block in self._blocks:
            taken = block.taken(value)
            tasks = [
                BlockTask(begin[i], begin[i] + int(self.grid.lengths[i]), taken[k], i)
                for k, i in enumerate(self.tasks.task_of)
                if k in taken and self.tasks.job_of[k] in run
            ]
            for i, numbers in assign_processors(block.available, tasks).items():
                on[i] = *on.get(i, ()), *map(block.numbers.__getitem__, numbers)
        return on


class BlockTask(NamedTuple):
    """A task on a block: its start, its end, the processors it takes there, and its position."""

    start: int
    end: int
    takes: int
    position: int


def block_levels(amounts: Iterable[int]) -> list[int]:
    """Return the fewest levels that cut a profile into rectangular blocks, in ascending order.

    Each bump needs a cut between the nearest lower amounts before and after it, both included.
    """
    bumps, rising = [], [0]
    for amount in (*amounts, 0):
        while rising[-1] > amount:
            rising.pop()
            bumps.append(sorted((rising[-1], amount)))
        if rising[-1] < amount:
            rising.append(amount)
    levels = [0]
    for low, high in sorted(bumps, key=lambda bump: bump[1]):
        if low > levels[-1]:
            levels.append(high)
    return levels


def assign_processors(available: Steps, tasks: Sequence[BlockTask]) -> dict[int, list[int]]:
    """Return the processors of each task on a block, numbered from 0, which it keeps to its end.

    Tasks that run when the fewest processors are present come first. After that time processors are
    only added: each task takes the lowest idle ones. Before it the same holds backwards in time.
    """
    on: dict[int, list[int]] = {}
    for _, parts in groupby(available.spans(), lambda span: span.amount > 0):
        stretch = list(parts)
        bottom, last = int(min(stretch, key=lambda span: span.amount).start), stretch[-1].end or inf
        mine = [task for task in tasks if stretch[0].start <= task.start < last]
        at_bottom = [task for task in mine if task.start < bottom < task.end]
        after = sorted(task for task in mine if task.start >= bottom)
        mirrored = [task._replace(start=-task.end, end=-task.start) for task in at_bottom]
        before = sorted(
            task._replace(start=-task.end, end=-task.start) for task in mine if task.end <= bottom
        )
        on |= _assign_lowest_idle([*at_bottom, *after]) | _assign_lowest_idle([*mirrored, *before])
    return on


def _assign_lowest_idle(tasks: Iterable[BlockTask]) -> dict[int, list[int]]:
    """Return the processors of each task: the lowest idle ones at its start."""
    on: dict[int, list[int]] = {}
    idle, busy, fresh = list[int](), list[tuple[int, int]](), count()
    for start, end, takes, position in tasks:
        while busy and busy[0][0] <= start:
            heappush(idle, heappop(busy)[1])
        on[position] = [heappop(idle) if idle else next(fresh) for _ in range(takes)]
        for number in on[position]:
            heappush(busy, (end, number))
    return on
