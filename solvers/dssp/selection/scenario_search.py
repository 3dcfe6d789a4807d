"""Selections under uncertain run times: a Lagrangian bound, knapsacks, and branch and bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.scenarios import Mask, Scenarios
from schedopt.formulations.dssp.selection import Selection
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import remaining_limits
from schedopt.solvers.dssp.selection.scenario_prices import (
    DEFAULTS,
    ScenarioParams,
    ScenarioRelaxation,
)
from schedopt.solvers.dssp.selection.service_order_search import ServiceOrderSearch
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.kernels import Ascent
from schedopt.solvers.portfolio import solve as solve_any
from schedopt.solvers.result import Limits, Result, Termination
from schedopt.solvers.running import Run, make_result, plain_version

Floats = NDArray[np.float64]

SHORT = ScenarioParams(knapsacks=2, price_steps=100)
"""Parameters for few jobs and scenarios, where the declared model follows."""
SLIP = 1e-11
"""Relative rounding error of sums of doubles."""


def solve(model: Selection, task: EngineTask) -> Result | Partial:
    """Solve a selection under risk by a Lagrangian bound, knapsacks, and branch and bound."""
    sample = model.sample
    assert sample is not None  # noqa: S101 - the engine accepts no other selection
    began, run = now(), Run(task.limits)
    few = int(model.open.sum()) * sample.count <= DEFAULTS.declared_size and not task.alone
    search = ScenarioSearch(model, sample, task.limits, began, SHORT if few else DEFAULTS)
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
    ended = search.closed or not few
    late = search.late or remaining_limits(task.limits, began).time_limit == 0
    stopped: Termination = "time-limit" if late else "completed"
    if search.closed or run.interrupted:
        stopped = "optimal" if search.closed else "interrupted"
    solution = None if search.best is None else model.selected(np.flatnonzero(search.best))
    bound = search.bound if np.isfinite(search.bound) else None
    result = make_result(
        model,
        run,
        solver=task.name,
        version=plain_version(),
        stopped=stopped,
        solution=solution,
        bound=bound,
    )
    return result if ended or late or run.interrupted else Partial(result, bound)


class ScenarioSearch:
    """Search for a selection under risk, with its incumbent and its bound."""

    def __init__(
        self,
        model: Selection,
        sample: Scenarios,
        limits: Limits,
        began: float,
        params: ScenarioParams = DEFAULTS,
    ) -> None:
        self.params = params
        self.model, self.sample, self.limits, self.began = model, sample, limits, began
        started = now()
        self.program = model.integer_program()
        self._seconds_to_build = model.seconds + now() - started  # a selection and its program
        self.relaxation = ScenarioRelaxation(model, sample, self.program, params)
        self.best: Mask | None = None
        self.value = -np.inf
        self.bound = np.inf
        self.prices = np.zeros(self.relaxation.size)
        self.weights = np.full(sample.count, 1 / sample.count)
        self.notify: Callable[[float | None, float | None], None] = lambda value, bound: None
        self._halted = False
        self.late = False  # whether the time limit ended the search

    def halt(self) -> None:
        """Stop the search at its next check."""
        self._halted = True

    @property
    def closed(self) -> bool:
        """Whether the gap is at most the requested one."""
        near = max(self.limits.gap, 1e-9) * abs(self.value)
        return self.best is not None and self.bound - self.value <= near

    def _out_of_time(self, share: float = 1.0, needed: float = 0.0) -> bool:
        """Return True if less than the needed seconds are left of a share of the time limit."""
        limit = self.limits.time_limit
        over = limit is not None and now() - self.began + needed >= share * limit
        return self._halted or over

    def run(self) -> None:
        """Find a greedy selection, then prices, then selections from knapsacks and branches."""
        chance = self.sample.measure.kind == "chance"
        candidates = self._search_fill_levels if chance else self._by_average_reward
        self._offer_greedy()
        self._price_planned_rows()
        self._ascend_prices()
        self._continue_selections(candidates(self.sample.rewards))
        self._branch_in_service_order()

    def _branch_in_service_order(self) -> None:
        """Branch in the order of service if the instance is small enough."""
        if self.closed or self._out_of_time() or not np.isfinite(self.bound):
            return
        has_limit = self.limits.time_limit is not None
        size = self.params.branching_size if has_limit else self.params.declared_size
        if self.relaxation.fits.size * len(self.relaxation.crowded) > size:
            return
        search = ServiceOrderSearch(
            self.sample, self.relaxation, self.prices, self.weights, self.params
        )
        if search.applicable:
            gap = max(self.limits.gap, SLIP)
            outcome = search.run(lambda: self.value, self._update_incumbent, self._out_of_time, gap)
            self.bound = min(self.bound, outcome + SLIP * abs(self.bound))

    def _continue_selections(self, candidates: Iterator[None]) -> None:
        """Compute further selections while there is time for the next one."""
        needed = self._seconds_to_build
        if self.closed:
            return
        self.late = self.best is not None and self._out_of_time(needed=needed)
        while not (self.closed or self.late) and next(candidates, False) is None:
            self.late = self._out_of_time(needed=needed)

    def _offer_greedy(self) -> None:
        """Offer a greedy selection: jobs that meet floors, then jobs that fit, in order of service.

        Under a chance constraint, jobs that are not on time in enough scenarios are removed.
        """
        relaxed = self.relaxation
        order = self.sample.order[relaxed.place[self.sample.order] >= 0]
        by_job, used = relaxed.rows.by_job(), np.zeros(len(relaxed.room))
        chosen, short = np.zeros(len(self.sample.rewards), dtype=np.bool_), relaxed.room < 0
        possible = relaxed.possible[relaxed.place[order]]
        for floors in (True, False) if short.any() else (False,):
            for k in np.flatnonzero(possible).tolist():
                rows, asked = by_job[relaxed.place[order[k]]]
                before, room = used[rows], relaxed.room[rows]
                owed = short[rows] & (before > room)
                if chosen[order[k]] or (floors and not (asked < 0)[owed].any()):
                    continue
                if (before + asked <= np.maximum(room, before) + SLIP).all():
                    chosen[order[k]], used[rows] = True, before + asked
                if (k + 1) % self.params.greedy_check == 0 and self._out_of_time():
                    break
        if self.sample.measure.kind == "chance":
            chosen &= self.sample.on_time(chosen).sum(axis=0) >= self.sample.least
            night = self.model.instance
            for j in order.tolist():  # each comes after its predecessors
                chosen[j] &= all(chosen[night.index[name]] for name in night.jobs[j].after)
        self._update_incumbent(chosen)

    def _price_planned_rows(self) -> None:
        """Compute the bound of the fractional knapsack of each planned row."""
        relaxed, share = self.relaxation, self.weights @ self.sample.fits[:, self.relaxation.at]
        if self.sample.measure.kind == "chance":
            self.weights, share = np.ones(self.sample.count), relaxed.possible
        worth, slip = relaxed.rewards * share, SLIP * float(self.sample.rewards.sum())
        largest_first = np.argsort(-(relaxed.rows @ np.ones(relaxed.rows.width)))
        for i in largest_first[: self.params.planned_rows].tolist():
            if np.isfinite(self.bound) and self._out_of_time():
                return
            asked = relaxed.rows.dense(i, i + 1)[0]
            if not (asked >= 0).all() or relaxed.room[i] <= 0:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                density = np.where(asked > 0, worth / asked, np.inf)
            order = np.argsort(-density)
            last = int(np.searchsorted(np.cumsum(asked[order]), relaxed.room[i]))
            if last < len(order) and np.isfinite(density[order[last]]):
                prices = np.zeros(relaxed.size)
                prices[i] = density[order[last]]
                self.bound = min(self.bound, relaxed.bound(prices, self.weights).value + slip)

    def _update_incumbent(self, chosen: Mask | None) -> bool:
        """Keep a selection if it is the best one; return True if it is feasible."""
        if chosen is None:
            return False
        value = self.sample.value(chosen)
        if value is not None and value > self.value:
            program = self.program  # planned rows are checked in integers
            if len(program.violated_rows(program.point(np.flatnonzero(chosen).tolist()))):
                return False
            self.best, self.value = chosen, value
            self.notify(value, self.bound if np.isfinite(self.bound) else None)
        return value is not None

    def _knapsack(self, rewards: Floats, fill: float, allowed: Mask) -> Mask | None:
        """Return the best selection of allowed jobs for other rewards and planned run times."""
        night = self.model.instance
        whole = np.rint(rewards * (1e6 / max(1e-300, float(rewards.max(initial=0.0)))))
        jobs = zip(night.jobs, np.maximum(0, whole).tolist(), strict=True)
        other = msgspec.structs.replace(
            night,
            jobs=tuple(msgspec.structs.replace(job, reward=worth) for job, worth in jobs),
            objectives=(),
        )
        priced = Selection(other, fill=fill)
        priced.open = priced.open & allowed
        priced.add(*self.model.added)
        limits = replace(remaining_limits(self.limits, self.began), watch=None, gap=1e-6)
        if not self.model.single_capacity:
            seconds = (limits.time_limit or 0) * self.params.knapsack_share or None
            limits = replace(limits, gap=self.params.knapsack_gap, time_limit=seconds)
        seconds = 10.0 if limits.time_limit is None else min(10.0, limits.time_limit)
        selection = solve_any(priced, replace(limits, time_limit=seconds)).solution
        if selection is None:
            return None
        chosen = np.zeros(len(night.jobs), dtype=np.bool_)
        chosen[self.model.chosen_columns(selection)] = True
        return chosen

    def _by_average_reward(self, rewards: Floats) -> Iterator[None]:
        """Solve knapsacks whose rewards are averages over scenarios, first of each job alone."""
        part = np.asarray(self.weights @ self.sample.fits, dtype=np.float64)
        for _ in range(self.params.knapsacks):
            chosen = self._knapsack(rewards * part, self.model.fill, self.model.open)
            if chosen is None:
                return
            self._update_incumbent(chosen)
            yield
            part = (part + self._service_rates(chosen)) / 2

    def _service_rates(self, chosen: Mask) -> Floats:
        """Return the fraction of scenarios in which each job is, or would be, on time."""
        rates = self.sample.fits.copy()
        for row in self.sample.rows:
            asked = self.sample.run_time_factors[:, row.jobs] * row.work
            run = chosen[row.jobs]
            rates[:, row.jobs] &= np.cumsum(asked * run, axis=1) + asked * ~run <= row.room
        return np.asarray(self.weights @ rates, dtype=np.float64)

    def _search_fill_levels(self, rewards: Floats) -> Iterator[None]:
        """Search by bisection for the largest planned utilization that meets the chance."""
        allowed = self.model.open.copy()
        allowed[self.relaxation.at] = self.relaxation.possible
        low, high = 0.0, self.model.fill
        fill = high
        for _ in range(2 * self.params.knapsacks):
            chosen = self._knapsack(rewards, fill, allowed)
            if self._update_incumbent(chosen):
                low = fill
            else:
                high = fill
            yield
            if low == high:
                break
            fill = (low + high) / 2

    def _ascend_prices(self) -> None:
        """Improve the bound by subgradient steps of the prices and of the scenarios' weights."""
        relaxed, sample = self.relaxation, self.sample
        most = float(sample.rewards.sum())
        prices, weights = self.prices, self.weights
        if not prices.any():
            weights = np.full(sample.count, 1 / sample.count)
            if sample.measure.kind == "chance":
                weights = np.ones(sample.count)
            if sample.measure.kind == "cvar" and self.best is not None:
                weights = relaxed.worst(sample.on_time(self.best) @ sample.rewards)
            prices = np.full(relaxed.size, 1e-3 * most / sample.count / weights.mean())
        steps, best = Ascent(kept=0.3, patience=12, length=1.0), (prices, weights)
        for _ in range(self.params.price_steps):
            bounded = relaxed.bound(prices, weights)
            value = bounded.value + SLIP * most
            better = value < self.bound * (1 - 1e-7)
            if value < self.bound:
                self.bound, best = value, (prices, weights)
            if self.closed or self._out_of_time(self.params.price_share) or steps.length < 1e-4:
                break
            if not steps.goes_on(better):
                prices, weights = best
                steps.halve()
                continue
            over = -np.concatenate((bounded.planned, bounded.priced))
            lengths = np.concatenate(
                (np.ones(len(bounded.planned)), np.tile(weights, len(relaxed.asked)))
            )
            goal = self.value if np.isfinite(self.value) else 0.9 * value
            following = steps.step(prices, over, lengths, value - goal)
            if following is None:
                break
            prices = following
            if sample.measure.kind == "cvar":
                away = bounded.earned - float(weights @ bounded.earned)
                if (square := float(away @ away)) > 1e-200:
                    part = steps.length * (value - goal) / square
                    weights = relaxed.project_weights(weights - 0.3 * part * away)
        self.prices, self.weights = best
        self.notify(self.value if self.best is not None else None, self.bound)
