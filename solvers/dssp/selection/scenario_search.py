"""Branch and bound for a selection under risk, in the order in which jobs are served.

Whether a job is on time in a scenario depends only on the jobs before it in the order. So a branch
fixes the first jobs of the order, whose rewards are then exact. The rewards of the other jobs are
bounded by fractional knapsacks (Dantzig 1957): one in each scenario, and one of expected rewards
over planned run times. The branches of one depth are rows of arrays; those with the best bounds are
processed first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.scenarios import Floats, Integers, Mask, Scenarios
from schedopt.formulations.dssp.selection import Selection
from schedopt.formulations.program import IntegerProgram
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import remaining_limits
from schedopt.solvers.dssp.greedy import greedy_columns
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.portfolio import solve as solve_any
from schedopt.solvers.result import Limits, Result, Termination
from schedopt.solvers.running import Run, make_result, plain_version

NEAR = 1e-9
"""Tolerance of the rows of planned run times, whose right-hand sides are 1, 0 or -1."""
SLIP = 1e-11
"""Relative rounding error of sums of doubles."""


@dataclass(frozen=True)
class ScenarioParams:
    """Parameters of the engine for selections under risk.

    Attributes
    ----------
    fills : tuple of float
        Parts of the planned utilization for which selections are solved for an incumbent.
    seconds : float
        Most seconds for each of them.
    branches : int
        Branches that are processed together.
    stored_numbers : int
        About how many numbers the open branches may have. The tree is not searched for instances
        that have more themselves.
    """

    fills: tuple[float, ...] = (1.0, 0.95, 0.9, 0.8, 0.7)
    seconds: float = 2.0
    branches: int = 2_000
    stored_numbers: int = 20_000_000


DEFAULTS = ScenarioParams()


def solve(model: Selection, task: EngineTask) -> Result | Partial:
    """Solve a selection under risk by branch and bound in the order of service."""
    sample = model.sample
    assert sample is not None  # noqa: S101 - the engine accepts no other selection
    run = Run(task.limits)
    search = ScenarioSearch(model, sample, task.limits)
    search.notify = run.note
    failed: list[Exception] = []

    def work() -> None:
        try:
            search.run()
        except Exception as error:  # noqa: BLE001 - raised again in the calling thread
            failed.append(error)

    run.in_thread(work, search.halt)
    if failed:
        raise failed[0]
    late = remaining_limits(task.limits, search.began).time_limit == 0
    stopped: Termination = "time-limit" if late else "completed"
    if search.closed or run.interrupted:
        stopped = "optimal" if search.closed else "interrupted"
    bound = search.bound if np.isfinite(search.bound) else None
    result = make_result(
        model,
        run,
        solver=task.name,
        version=plain_version(),
        stopped=stopped,
        solution=None if search.best is None else model.selected(np.flatnonzero(search.best)),
        bound=bound,
    )
    ended = search.closed or search.is_large or late or run.interrupted
    return result if ended else Partial(result, bound)


class Branches(NamedTuple):
    """The open nodes of the tree at one depth, as arrays.

    Attributes
    ----------
    used : ndarray of int, shape (branches, rows, scenarios)
        Use of each capacity row in each scenario.
    earned : ndarray of float, shape (branches, scenarios)
    planned : ndarray of float, shape (branches, planned rows)
        Use of the rows of planned run times.
    taken : ndarray of bool, shape (branches, jobs)
        The jobs that are selected, in the order of service.
    bound : ndarray of float, shape (branches,)
        Upper bound on the value.
    """

    used: Integers
    earned: Floats
    planned: Floats
    taken: Mask
    bound: Floats

    def at(self, which: NDArray[np.generic] | slice) -> Branches:
        """Return the branches at some positions or under a mask."""
        return Branches._make(part[which] for part in self)


class ScenarioSearch:
    """Search for a selection under risk, with its incumbent and its bound.

    Attributes
    ----------
    best : ndarray of bool or None
        The incumbent, by job.
    value, bound : float
        The value of the incumbent, and the upper bound.
    """

    def __init__(
        self,
        model: Selection,
        sample: Scenarios,
        limits: Limits,
        params: ScenarioParams = DEFAULTS,
    ) -> None:
        self.began = now()
        self.model, self.sample, self.limits, self.params = model, sample, limits, params
        self.program = model.integer_program()
        self.best: Mask | None = None
        self.value, self.bound = -np.inf, np.inf
        self.notify: Callable[[float | None, float | None], None] = lambda value, bound: None
        self._halted = False
        order = sample.order[sample.open[sample.order]].astype(np.int64)
        self.order, self.rewards = order, sample.rewards[order]
        self.fits = sample.fits[:, order]
        self.possible = self.fits.sum(axis=0) >= sample.least  # jobs that meet the chance alone
        largest = [
            int((sample.run_time_factors[:, row.jobs] @ row.work).max(initial=0))
            for row in sample.rows
        ]
        # The other rows hold in all scenarios.
        pairs = zip(sample.rows, largest, strict=True)
        self.crowded = [row for row, most in pairs if most > row.room]

    def halt(self) -> None:
        """Stop the search at its next check."""
        self._halted = True

    @property
    def chance(self) -> bool:
        """Whether each job has a chance constraint."""
        return self.sample.measure.kind == "chance"

    @property
    def closed(self) -> bool:
        """Whether the gap is at most the requested one."""
        near = max(self.limits.gap, 1e-9) * abs(self.value)
        return self.best is not None and self.bound - self.value <= near

    @property
    def fits_64_bits(self) -> bool:
        """Whether the sums of the capacity rows fit 64 bits, as the tree requires."""
        return all(row.work.dtype == np.int64 for row in self.crowded)

    @property
    def is_large(self) -> bool:
        """Whether the tree would take too much memory."""
        rows = len(self.crowded) * self.sample.count + self.program.n_rows
        return rows * len(self.order) > self.params.stored_numbers

    def is_over(self) -> bool:
        """Return True if the search was halted or the time limit is reached."""
        limit = self.limits.time_limit
        return self._halted or (limit is not None and now() - self.began >= limit)

    def run(self) -> None:
        """Find a greedy selection, then optima for planned run times, then branch."""
        demands = self.model.instance.planned.demands.floats
        columns = greedy_columns(self.program, demands)
        if columns is not None:
            self._offer_on_time(columns)
        for part in self.params.fills:
            if self.is_over():
                break
            self._offer_planned(part * self.model.fill)
        if self.is_large or not self.fits_64_bits:
            self.bound = float(self.rewards[self.possible].sum()) * (1 + SLIP)
        else:
            self._prepare()
            self.branch()

    # --- incumbents

    def offer(self, chosen: Mask) -> bool:
        """Keep a selection if it is the best one; return True if it is feasible."""
        value = self.sample.value(chosen)
        if value is not None and value > self.value:
            program = self.program  # planned rows are checked in integers
            if len(program.violated_rows(program.point(np.flatnonzero(chosen).tolist()))):
                return False
            self.best, self.value = chosen, value
            self.notify(value, self.bound if np.isfinite(self.bound) else None)
        return value is not None

    def _offer_on_time(self, columns: list[int]) -> None:
        """Offer jobs; under a chance constraint without those that are late too often."""
        chosen = np.zeros(len(self.sample.rewards), dtype=np.bool_)
        chosen[columns] = True
        if self.chance:
            chosen &= self.sample.on_time(chosen).sum(axis=0) >= self.sample.least
            night = self.model.instance
            for j in self.sample.order.tolist():  # each comes after its predecessors
                chosen[j] &= all(chosen[night.index[name]] for name in night.jobs[j].after)
        self.offer(chosen)

    def _offer_planned(self, fill: float) -> None:
        """Offer the best selection for planned run times at a utilization."""
        planned = Selection(self.model.instance, fill=fill).add(*self.model.added)
        left = remaining_limits(self.limits, self.began).time_limit
        seconds = self.params.seconds if left is None else min(self.params.seconds, left)
        limits = replace(self.limits, watch=None, gap=1e-4, time_limit=seconds)
        selection = solve_any(planned, limits).solution
        if selection is not None:
            self._offer_on_time(list(self.model.chosen_columns(selection)))

    # --- branches

    def _prepare(self) -> None:
        """Set up the rows of planned run times and of scenarios, and the knapsacks."""
        sample, order = self.sample, self.order
        self.rows, self.room = _planned_rows(self.program, order)
        after = np.cumsum(np.minimum(0, self.rows)[:, ::-1], axis=1)[:, ::-1]
        self.least = np.concatenate((after, np.zeros((len(after), 1))), axis=1)
        rooms, asked = [0], [np.zeros(self.fits.shape, dtype=np.int64)]
        for row in self.crowded:
            work = np.zeros(len(sample.open), dtype=np.int64)
            work[row.jobs] = row.work
            rooms.append(row.room)
            asked.append(sample.run_time_factors[:, order] * work[order])
        crowding = [
            (float(part.sum(axis=1).max(initial=0)) / max(1, room), -i)
            for i, (part, room) in enumerate(zip(asked, rooms, strict=True))
        ]
        crowded = -max(crowding)[1]  # the row of the knapsacks
        rooms[0], rooms[crowded] = rooms[crowded], rooms[0]
        asked[0], asked[crowded] = asked[crowded], asked[0]
        self.rooms, self.asked = np.array(rooms, dtype=np.int64), np.array(asked)
        counts = np.broadcast_to(self.possible if self.chance else False, self.fits.shape)
        self.counts = self.fits | counts if self.chance else self.fits
        self.counts = self.counts & self.possible
        packing = np.flatnonzero((self.rows >= 0).all(axis=1) & (self.room > 0))
        uses = self.rows[packing].sum(axis=1)
        self.packed = int(packing[uses.argmax()]) if len(packing) else -1
        self.worth = self.rewards * self.counts.mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.where(self.counts, self.rewards / self.asked[0], 0)
            planned = self.worth / self.rows[self.packed] if len(packing) else self.worth
        self.ranked = np.argsort(-np.nan_to_num(density), axis=1, kind="stable")
        self.by_worth = np.argsort(-np.nan_to_num(planned), kind="stable")

    def branch(self) -> None:
        """Search until the tree is empty, or the search is over, and lower the bound."""
        count = self.sample.count
        none = np.zeros((1, len(self.rooms), count), dtype=np.int64), np.zeros((1, count))
        rest = np.zeros((1, len(self.room))), np.zeros((1, len(self.order)), dtype=np.bool_)
        root = self._with_bounds(Branches(*none, *rest, np.full(1, np.inf)), 0)
        waiting = [(0, root)]
        stored = self.params.stored_numbers // max(1, self.asked.size)
        most = min(self.params.branches, max(4, stored))

        def enough() -> float:
            gap = max(self.limits.gap, SLIP)
            return self.value + gap * abs(self.value) if np.isfinite(self.value) else -np.inf

        while waiting and not self.is_over():
            depth, some = waiting.pop()
            if len(some.bound) > most:
                waiting.append((depth, some.at(slice(None, -most))))
                some = some.at(slice(-most, None))
            some = some.at(some.bound > enough())
            if depth == len(self.order):
                for taken, value in zip(some.taken[::-1], some.bound[::-1].tolist(), strict=True):
                    if value > enough():
                        chosen = np.zeros(len(self.sample.open), dtype=np.bool_)
                        chosen[self.order[taken]] = True
                        self.offer(chosen)
                continue
            some = self._with_bounds(self._children(some, depth), depth + 1)
            some = some.at(np.argsort(some.bound, kind="stable"))
            waiting.append((depth + 1, some.at(some.bound > enough())))
        bounds = [float(some.bound.max(initial=-np.inf)) for _, some in waiting]
        self.bound = max([enough(), *bounds])
        self.bound += SLIP * abs(self.bound) if np.isfinite(self.bound) else 0.0
        self.notify(self.value if self.best is not None else None, self.bound)

    def _children(self, some: Branches, depth: int) -> Branches:
        """Return the branches with and without the next job that can satisfy the planned rows."""
        asked, fits = self.asked[:, :, depth], self.fits[:, depth]
        used, planned = some.used + asked, some.planned + self.rows[:, depth]
        crowded = (used > self.rooms[:, None]) & (asked > 0)
        done = fits & ~crowded.any(axis=1)
        with_it, taken = np.full(len(used), self.possible[depth]), some.taken.copy()
        taken[:, depth] = True
        if self.chance:
            with_it &= done.sum(axis=1) >= self.sample.least
            done[:] = True
        both = [
            Branches(used, some.earned + self.rewards[depth] * done, planned, taken, some.bound),
            some,
        ]
        kept = [with_it, np.ones(len(used), dtype=np.bool_)]
        least = self.least[:, depth + 1] - self.room
        for k, one in enumerate(both):
            kept[k] &= (one.planned + least <= NEAR).all(axis=1)
        parts = zip(*(one.at(which) for one, which in zip(both, kept, strict=True)), strict=True)
        return Branches._make(map(np.concatenate, parts))

    def _with_bounds(self, some: Branches, depth: int) -> Branches:
        """Return branches with their bounds; at the last depth, the bounds are the values."""
        room = np.maximum(0, self.rooms[0] - some.used[:, 0])
        knapsacks = np.zeros(some.earned.shape)
        for s, ranked in enumerate(self.ranked):
            jobs = ranked[(ranked >= depth) & self.counts[s, ranked]]
            knapsacks[:, s] = _fractional_knapsack(
                self.asked[0, s, jobs], self.rewards[jobs], room[:, s]
            )
        bound = np.minimum(self._measure(some.earned + knapsacks), some.bound)
        if self.packed >= 0 and depth < len(self.order):
            jobs = self.by_worth[self.by_worth >= depth]
            free = np.maximum(0, self.room[self.packed] - some.planned[:, self.packed]) + NEAR
            more = _fractional_knapsack(self.rows[self.packed, jobs], self.worth[jobs], free)
            bound = np.minimum(bound, some.earned.mean(axis=1) + more)
        return some._replace(bound=bound)

    def _measure(self, values: Floats) -> Floats:
        """Return the risk measure of upper bounds, shape (branches, scenarios)."""
        measure, count = self.sample.measure, self.sample.count
        if self.chance:  # enough scenarios have room for all selected jobs
            return np.partition(values, count - self.sample.least, axis=1)[
                :, count - self.sample.least
            ]
        if measure.kind == "mean":
            return np.asarray(values.mean(axis=1))
        tail = float((1 - measure.level) * count)
        weights = np.clip(tail - np.arange(count), 0, 1) / tail  # of the worst scenarios
        return np.asarray(np.sort(values, axis=1) @ weights)


def _fractional_knapsack(uses: NDArray[np.generic], worth: Floats, room: Floats) -> Floats:
    """Return the LP bound of the knapsack of some jobs, by density, for each room."""
    free = uses == 0
    steps = np.concatenate(([0.0], np.cumsum(uses[~free], dtype=np.float64)))
    total = np.concatenate(([0.0], np.cumsum(worth[~free])))
    return np.asarray(worth[free].sum() + np.interp(room, steps, total))


def _planned_rows(program: IntegerProgram, order: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the rows of planned run times that can bind, with right-hand sides 1, 0 or -1.

    They are dense, shape (rows, jobs), over the jobs in the order of service. Rows that an added
    column can relax are left out.
    """
    place = np.full(program.n_columns, -1)
    place[order] = np.arange(len(order))
    rows, room = list[Floats](), list[float]()
    lower, upper = program.lower.tolist(), program.upper.tolist()
    for i, (a, b) in enumerate(pairwise(program.first.tolist())):
        at, values = place[program.column[a:b]], program.coefficient[a:b].tolist()
        if (at < 0).any():
            continue
        for sign, most in ((1, upper[i]), (-1, -lower[i])):
            if sum(max(0, sign * c) for c in values) <= most:
                continue
            unit = abs(most) or max(map(abs, values))
            row = np.zeros(len(order))
            row[at] = [sign * c / unit for c in values]
            rows.append(row)
            room.append(most / unit)
    return np.array(rows).reshape(len(rows), len(order)), np.array(room, dtype=np.float64)
