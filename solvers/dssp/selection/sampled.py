"""Selections under uncertain run times: bounded by prices, found by knapsacks at these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.sample import Mask, Sample
from schedopt.formulations.dssp.selection import Selection
from schedopt.instances.recipes import stream
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import left
from schedopt.solvers.door import solve as solve_any
from schedopt.solvers.driving import plain_version
from schedopt.solvers.dssp.selection.in_order import LARGE, InOrder
from schedopt.solvers.dssp.selection.relaxed_sample import Relaxation
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.kernels.subgradient import Ascent
from schedopt.solvers.result import Limits, Result, Termination
from schedopt.solvers.running import Run, make_result

Floats = NDArray[np.float64]

SWEEPS, WIDE = 2, 5e-4
"""How often the price of each scenario is moved where the order counts, and for which gaps."""
STEPS, PRICED = 400, 0.5
"""Steps of prices, and the part of a time limit after which there are no more."""
ROUNDS = 8
"""Knapsacks that are tried, or twice as many under a chance."""
PASSES = 5
"""How often prices and selections are improved in turn."""
NEAR, TURNS = 1e-4, 20
"""How near knapsacks with more than one capacity are solved, and in which part of what is left."""
PLAIN, MANY = 8, 20_000
"""Rows of planned times that are priced alone at first, and jobs that are looked at in no time."""
SMALL = 10_000
"""Jobs times scenarios up to which the declared model follows."""
VAIN = 50
"""Moves in vain for each of the last jobs, after which there are no more."""
SLIP = 1e-11
"""Relative error of sums of doubles."""


def solve(model: Selection, task: EngineTask) -> Result | Partial:
    """Solve a selection under risk: a bound by prices, and the best of priced knapsacks."""
    sample = task.reading
    began, run = now(), Run(task.limits)
    few = int(model.open.sum()) * sample.count <= SMALL and not task.alone
    search = Search(model, sample, task.limits, began, rounds=2 if few else ROUNDS)
    search.told = run.note
    failed: list[Exception] = []

    def work() -> None:
        try:
            search.run()
        except Exception as error:  # noqa: BLE001 - raised again where it was asked for
            failed.append(error)

    run.in_thread(work, search.halt)
    if failed:
        raise failed[0]
    ended = search.closed or not few
    late = left(task.limits, began).time_limit == 0
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


class Search:
    """Prices and knapsacks in turn."""

    def __init__(
        self, model: Selection, sample: Sample, limits: Limits, began: float, *, rounds: int
    ) -> None:
        self.rounds = rounds
        self.model, self.sample, self.limits, self.began = model, sample, limits, began
        self.program = model.program()
        self.relaxation = Relaxation(model, sample, self.program)
        self.best: Mask | None = None
        self.value = -np.inf
        self.bound = np.inf
        self.prices = np.zeros(self.relaxation.size)
        self.weights = np.full(sample.count, 1 / sample.count)
        self.told: Callable[[float | None, float | None], None] = lambda value, bound: None
        self._halted = False

    def halt(self) -> None:
        """End the search as soon as may be."""
        self._halted = True

    @property
    def alone(self) -> bool:
        """Whether one capacity is all that there is."""
        several = max(len(self.relaxation.room), len(self.relaxation.asked)) > 1
        return not (self.model.stated or several) and self.model.single_capacity

    @property
    def closed(self) -> bool:
        """Whether the bound is met, up to the gap that is good enough."""
        near = max(self.limits.gap, 1e-9) * abs(self.value)
        return self.best is not None and self.bound - self.value <= near

    def _late(self, share: float = 1.0) -> bool:
        """Tell whether a share of the time limit is over."""
        limit = self.limits.time_limit
        return self._halted or (limit is not None and now() - self.began >= share * limit)

    def run(self) -> None:
        """Find a selection, then prices, then selections by these."""
        chance = self.sample.measure.kind == "chance"
        candidates = self._chances if chance else self._means
        self._fill()
        self._plain_price()
        for _ in range(PASSES if self.rounds == ROUNDS else 1):
            before = self.bound, self.value
            self._price()
            if chance:
                self._try(candidates(self.sample.rewards))
                self._try(candidates(self._adjusted()))
            else:
                self._try(self._means(self.sample.rewards))
            if not chance and self.rounds == ROUNDS:
                self._try(self._moved())
            if chance or self.closed or self._late() or before == (self.bound, self.value):
                break
        if self.alone and not chance and not self.model.instance.windowed:
            self._serve()
        self._branch()

    def _branch(self) -> None:
        """Decide jobs in the order in which they are served, where they are few enough."""
        if self.closed or self._late() or not np.isfinite(self.bound):
            return
        size = SMALL if self.limits.time_limit is None else LARGE
        if self.relaxation.fits.size * len(self.relaxation.crowded) > size:
            return
        search = InOrder(self.sample, self.relaxation, self.prices, self.weights)
        if search.pays:
            gap = max(self.limits.gap, SLIP)
            found = search.run(lambda: self.value, self._offer, self._late, gap)
            self.bound = min(self.bound, found + SLIP * abs(self.bound))

    def _try(self, candidates: Iterator[None]) -> None:
        """Go on with selections as long as it pays."""
        if not self.closed:
            for _ in candidates:
                if self.closed or self._late():
                    return

    def _fill(self) -> None:
        """Offer a greedy choice: what floors ask for, then all that fits in the order of service.

        Under a chance those that have none then are left out.
        """
        relaxed = self.relaxation
        order = self.sample.order[relaxed.place[self.sample.order] >= 0]
        rows, used = relaxed.rows.T[relaxed.place[order]], np.zeros(len(relaxed.room))
        chosen, short = np.zeros(len(self.sample.rewards), dtype=np.bool_), relaxed.room < 0
        possible = relaxed.possible[relaxed.place[order]]
        for floors in (True, False) if short.any() else (False,):
            for k in np.flatnonzero(possible).tolist():
                asked, owed = rows[k], short & (used > relaxed.room)
                if chosen[order[k]] or (floors and not (asked < 0)[owed].any()):
                    continue
                if (used + asked <= np.maximum(relaxed.room, used) + SLIP).all():
                    chosen[order[k]], used = True, used + asked
                if k % MANY == MANY - 1 and self._late():
                    break
        if self.sample.measure.kind == "chance":
            chosen &= self.sample.in_time(chosen).sum(axis=0) >= self.sample.least
        self._offer(chosen)

    def _plain_price(self) -> None:
        """Price planned times as the fractional knapsack does, and take the bound of that."""
        relaxed, share = self.relaxation, self.weights @ self.sample.fits[:, self.relaxation.at]
        if self.sample.measure.kind == "chance":
            self.weights, share = np.ones(self.sample.count), relaxed.possible
        worth, slip = relaxed.rewards * share, SLIP * float(self.sample.rewards.sum())
        for i in np.argsort(-relaxed.rows.sum(axis=1))[:PLAIN].tolist():
            asked = relaxed.rows[i]
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

    def _offer(self, chosen: Mask | None) -> bool:
        """Keep a selection if it is the best; tell whether it is one at all."""
        if chosen is None:
            return False
        value = self.sample.value(chosen)
        if value is not None and value > self.value:
            program = self.program  # rows of planned run times are kept in whole numbers
            if program.broken(program.completed(np.flatnonzero(chosen).tolist())) is not None:
                return False
            self.best, self.value = chosen, value
            self.told(value, self.bound if np.isfinite(self.bound) else None)
        return value is not None

    def _knapsack(self, rewards: Floats, fill: float, allowed: Mask) -> Mask | None:
        """Return the best selection for other rewards, by planned run times."""
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
        limits = replace(left(self.limits, self.began), watch=None, gap=1e-6)
        if not self.model.single_capacity:  # nor is it solved at once
            limits = replace(limits, gap=NEAR, time_limit=(limits.time_limit or 0) / TURNS or None)
        seconds = 10.0 if limits.time_limit is None else min(10.0, limits.time_limit)
        found = solve_any(priced, replace(limits, time_limit=seconds)).solution
        if found is None:
            return None
        chosen = np.zeros(len(night.jobs), dtype=np.bool_)
        chosen[list(self.model.columns(found))] = True
        return chosen

    def _means(self, rewards: Floats) -> Iterator[None]:
        """Try selections for what each job earns on weighted average: at first if it is alone."""
        part = np.asarray(self.weights @ self.sample.fits, dtype=np.float64)
        for _ in range(self.rounds):
            chosen = self._knapsack(rewards * part, self.model.fill, self.model.open)
            if chosen is None:
                return
            self._offer(chosen)
            yield
            part = (part + self._shares(chosen)) / 2

    def _moved(self) -> Iterator[None]:
        """Take the last jobs in or out, or one for another, as long as that is of use."""
        relaxed = self.relaxation
        if self.best is None or self.program.lifting:
            return
        chosen, draw, vain = self.best.copy(), stream(self.limits.seed), 0
        place = relaxed.place
        tail = self.sample.tail(chosen)
        jobs = tail.jobs[place[tail.jobs] >= 0]
        value, used = self.value, relaxed.rows @ chosen[relaxed.at]
        while len(jobs) > 2 and vain < VAIN * len(jobs) and not self._late():
            flipped = draw.choice(jobs, int(draw.integers(1, 4)), replace=False)
            signs = np.where(chosen[flipped], -1, 1)
            after = used + relaxed.rows[:, place[flipped]] @ signs
            vain += 1
            if (after > relaxed.room * (1 + SLIP)).any():
                continue
            chosen[flipped] ^= True
            found = tail.value(chosen)
            if found > value:
                value, used, vain = found, after, 0
            else:
                chosen[flipped] ^= True
            if vain % 100 == 0:
                self._offer(chosen.copy())
                yield
        self._offer(chosen)

    def _shares(self, chosen: Mask) -> Floats:
        """Return in which part of the scenarios each job is in time, or would be if selected."""
        found = self.sample.fits.copy()
        for row in self.sample.rows:
            asked = self.sample.drawn[:, row.jobs] * row.work
            run = chosen[row.jobs]
            found[:, row.jobs] &= np.cumsum(asked * run, axis=1) + asked * ~run <= row.room
        return np.asarray(self.weights @ found, dtype=np.float64)

    def _chances(self, rewards: Floats) -> Iterator[None]:
        """Look for how far the machine can be filled, then add what still fits."""
        allowed = self.model.open.copy()
        allowed[self.relaxation.at] = self.relaxation.possible
        low, high = 0.0, self.model.fill
        fill = high
        last: Mask | None = None
        for _ in range(2 * self.rounds):
            chosen = self._knapsack(rewards, fill, allowed)
            if self._offer(chosen):
                low, last = fill, chosen
            else:
                high = fill
            yield
            if low == high:
                break
            fill = (low + high) / 2
        if last is not None and not self.model.stated:
            yield from self._added(last, allowed)

    def _added(self, chosen: Mask, allowed: Mask) -> Iterator[None]:
        """Add jobs by reward for their demand, as long as everyone keeps his chance."""
        rows, room = self.relaxation.rows, self.relaxation.room
        place = self.relaxation.place
        used = rows @ chosen[self.relaxation.at]
        order = np.argsort(-self.sample.rewards / np.maximum(1e-300, self.model.instance.demands))
        for j in order[allowed[order] & ~chosen[order]].tolist():
            if (used + rows[:, place[j]] > room).any():
                continue
            chosen = chosen.copy()
            chosen[j] = True
            if self._offer(chosen):
                used = used + rows[:, place[j]]
            else:
                chosen[j] = False
            yield

    def _price(self) -> None:
        """Move prices, and the weights of scenarios, until the bound hardly falls."""
        relaxed, sample = self.relaxation, self.sample
        most = float(sample.rewards.sum())
        prices, weights = self.prices, self.weights
        if not prices.any():
            weights = np.full(sample.count, 1 / sample.count)
            if sample.measure.kind == "chance":
                weights = np.ones(sample.count)
            if sample.measure.kind == "cvar" and self.best is not None:
                weights = relaxed.worst(sample.in_time(self.best) @ sample.rewards)
            prices = np.full(relaxed.size, 1e-3 * most / sample.count / weights.mean())
        steps, best = Ascent(kept=0.3, patience=12, length=1.0), (prices, weights)
        for _ in range(STEPS * self.rounds // ROUNDS):
            found = relaxed.bound(prices, weights)
            value = found.value + SLIP * most
            better = value < self.bound * (1 - 1e-7)
            if value < self.bound:
                self.bound, best = value, (prices, weights)
            if self.closed or self._late(PRICED) or steps.length < 1e-4:
                break
            if not steps.goes_on(better):
                prices, weights = best
                steps.halve()
                continue
            over = -np.concatenate((found.planned, found.priced))
            lengths = np.concatenate(
                (np.ones(len(found.planned)), np.tile(weights, len(relaxed.asked)))
            )
            goal = self.value if np.isfinite(self.value) else 0.9 * value
            following = steps.step(prices, over, lengths, value - goal)
            if following is None:
                break
            prices = following
            if sample.measure.kind == "cvar":
                away = found.earned - float(weights @ found.earned)
                if (square := float(away @ away)) > 1e-200:
                    part = steps.length * (value - goal) / square
                    weights = relaxed.capped(weights - 0.3 * part * away)
        self.prices, self.weights = best
        self.told(self.value if self.best is not None else None, self.bound)

    def _wide(self) -> bool:
        return self.bound - self.value > max(self.limits.gap, WIDE) * abs(self.value)

    def _serve(self) -> None:
        """Look for prices of crowded scenarios that tell more once the order counts."""
        relaxed, weights = self.relaxation, self.weights
        if not (len(relaxed.asked) == len(relaxed.room) == 1) or not self._wide():
            return
        if self.best is None or self.rounds < ROUNDS:
            return
        rate = float(self.prices[0])
        crowded = (weights > 0) & (relaxed.asked[0] @ self.best[relaxed.at] > 1)
        slip = SLIP * float(self.sample.rewards.sum())
        top: tuple[float, Floats, float] = np.inf, np.zeros(len(weights)), rate

        def offer(parts: Floats, left: float) -> None:
            nonlocal top
            value = relaxed.served(weights, weights * rate * parts, max(0.0, left)) + slip
            if value < top[0]:
                top = value, parts, max(0.0, left)
            self.bound = min(self.bound, value)

        for part, by in product((0.15, 0.3, 0.45, 0.6), (1.0, 1.1)):
            if self._late():
                return
            offer(np.where(crowded, part, 0.0), rate * (1 - by * part * float(weights @ crowded)))
        for _ in range(SWEEPS):
            for s, by in product(np.flatnonzero(crowded).tolist(), (0.7, 0.9, 1.1, 1.4)):
                if self._late() or not self._wide():
                    return
                parts = top[1].copy()
                parts[s] *= by
                offer(parts, top[2] - rate * weights[s] * float(parts[s] - top[1][s]))

    def _adjusted(self) -> Floats:
        """Return rewards less what jobs ask for in the scenarios that are scarce."""
        relaxed, found = self.relaxation, self.sample.rewards.astype(np.float64)
        priced = self.prices[len(relaxed.room) :]
        priced = priced.reshape(len(relaxed.asked), self.sample.count)
        for price, asked in zip(priced, relaxed.asked, strict=True):
            mean = price.sum() * asked.mean(axis=0)
            found[relaxed.at] -= price @ asked - mean
        return np.maximum(0.0, found)
