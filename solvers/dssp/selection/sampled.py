"""Selections under uncertain run times: prices of scenarios bound them, priced knapsacks find them.

Nothing that is served in an order earns more in a scenario than the best of its selected jobs that
fit there. Prices of what there is in each scenario, and of the rows that hold for planned times,
turn this into a bound, job by job. Under a chance each row of the capacity holds as a whole in
enough scenarios; which of them are left out is chosen against us, and what a job gains by that is
taken on a chord above it.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.sample import Mask, Sample, Served
from schedopt.formulations.dssp.selection import Selection
from schedopt.instances.recipes import stream
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import left
from schedopt.solvers.door import solve as solve_any
from schedopt.solvers.engine import Given, HandOn
from schedopt.solvers.kernels.subgradient import Ascent
from schedopt.solvers.result import Limits, Result
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from schedopt.formulations.program import Program

Floats = NDArray[np.float64]

PRICED = 8
"""Rows of the capacity that are priced in scenarios; without the others the bound is weaker."""
STEPS = 400
"""Steps of prices."""
ROUNDS = 8
"""Knapsacks that are tried, or twice as many under a chance."""
SMALL = 10_000
"""Jobs times scenarios up to which the declared model follows."""
VAIN = 50
"""Moves in vain for each of the last jobs, after which there are no more."""
SLIP = 1e-11
"""Relative error of sums of doubles."""


class Bound(NamedTuple):
    """A bound from prices, and what they rest on.

    Attributes
    ----------
    value : float
    selected : ndarray of bool, shape (open jobs,)
    earned : ndarray of float, shape (scenarios,)
        What the relaxed answer comes to in each scenario, at these prices.
    planned, priced : ndarray of float
        What it leaves of each row: of planned times, and in scenarios.
    gains : ndarray of float, shape (open jobs,)
        What each job brings, at these prices, before planned rows are paid for.
    """

    value: float
    selected: Mask
    earned: Floats
    planned: Floats
    priced: Floats
    gains: Floats


class Relaxation:
    """The relaxation of a sample average program by prices, over the open jobs."""

    def __init__(self, model: Selection, sample: Sample, program: Program) -> None:
        self.sample, self.at = sample, np.flatnonzero(model.open)
        self.rewards, self.fits = sample.rewards[self.at], sample.fits[:, self.at]
        self.rows, self.room = _planned(program, self.at)
        tight = [row for row in sample.rows if _total(row, sample) > row.room > 0]
        tight.sort(key=lambda row: -_total(row, sample) / row.room)
        self.asked = [_asked(row, sample, self.at) for row in tight[:PRICED]]
        self.tail = float((1 - sample.measure.level) * sample.count)
        if sample.measure.kind == "chance":
            self.possible = self.fits.sum(axis=0) >= sample.least
        else:
            self.possible = self.fits.any(axis=0)

    @property
    def size(self) -> int:
        """How many prices there are."""
        return len(self.room) + len(self.asked) * self.sample.count

    def bound(self, prices: Floats, weights: Floats) -> Bound:
        """Return the bound of some prices: of planned rows, then of each scenario of each row.

        These are for a scenario of weight 1.
        """
        planned, rest = prices[: len(self.room)], prices[len(self.room) :]
        priced = weights * rest.reshape(len(self.asked), self.sample.count)
        cost = planned @ self.rows
        fixed = float(planned @ self.room)
        if self.sample.measure.kind == "chance":
            return self._chance(priced, cost, fixed)
        gain = weights[:, None] * self.rewards
        for price, asked in zip(priced, self.asked, strict=True):
            gain -= price[:, None] * asked
        taken = (gain > 0) & self.fits
        gains = np.where(taken, gain, 0.0).sum(axis=0)
        worth = gains - cost
        on = (worth > 0) & self.possible
        taken &= on
        left_over = [1 - (asked * taken).sum(axis=1) for asked in self.asked]
        value = fixed + float(priced.sum()) + float(worth[on].sum())
        unit = np.where(weights > 0, weights, 1.0)
        earned = (np.where(taken, gain, 0.0).sum(axis=1) + priced.sum(axis=0)) / unit
        return Bound(value, on, earned, self.room - self.rows @ on, _flat(left_over), gains)

    def _chance(self, priced: Floats, cost: Floats, fixed: float) -> Bound:
        """Return the bound where each row may be broken in some scenarios, the worst of them."""
        spared = self.sample.count - self.sample.least
        charges = [price[:, None] * asked for price, asked in zip(priced, self.asked, strict=True)]
        base, low, high = self.rewards - cost, np.zeros(len(self.at)), np.zeros(len(self.at))
        for charge in charges:
            base = base - charge.sum(axis=0)
            ordered = np.sort(charge, axis=0)
            low += ordered[:spared].sum(axis=0)
            high += ordered[len(ordered) - spared :].sum(axis=0)
        bottom, top = np.maximum(0, base + low), np.maximum(0, base + high)
        slope = np.divide(top - bottom, high - low, out=np.zeros_like(low), where=high > low)
        slope, bottom = slope * self.possible, bottom * self.possible
        value = fixed + float((bottom - slope * low).sum())
        kept, shift = [], np.zeros(len(self.at))
        for price, charge in zip(priced, charges, strict=True):
            gain = charge @ slope - price  # of leaving a scenario out
            out = np.argsort(gain)[len(gain) - spared :]
            value += float(price.sum() + gain[out].sum())
            stays = np.ones(len(gain), dtype=np.bool_)
            stays[out] = False
            kept.append(stays)
            shift += charge[out].sum(axis=0)
        on = (base + shift > 0) & self.possible
        rest = [
            np.where(stays, 1 - asked @ on, 0.0)
            for stays, asked in zip(kept, self.asked, strict=True)
        ]
        earned = np.zeros(self.sample.count)
        return Bound(value, on, earned, self.room - self.rows @ on, _flat(rest), base + cost)

    def worst(self, earned: Floats) -> Floats:
        """Return the weights of scenarios under which some rewards come to the least."""
        count = len(earned)
        if self.sample.measure.kind != "cvar":
            return np.full(count, 1 / count)
        weights, order = np.zeros(count), np.argsort(earned, kind="stable")
        weights[order] = np.clip(self.tail - np.arange(count), 0, 1) / self.tail
        return weights

    def capped(self, weights: Floats) -> Floats:
        """Return the nearest weights that sum to 1 and are at most that of the worst scenarios."""
        low, high = float(weights.min()) - 1, float(weights.max())
        for _ in range(60):
            middle = (low + high) / 2
            if np.clip(weights - middle, 0, 1 / self.tail).sum() > 1:
                low = middle
            else:
                high = middle
        found = np.clip(weights - high, 0, 1 / self.tail)
        return np.asarray(found / found.sum(), dtype=np.float64)


def solve(model: Selection, given: Given) -> Result[Any] | HandOn:
    """Solve a selection under risk: a bound by prices, and the best of priced knapsacks."""
    sample = given.read
    began, run = now(), Run(given.limits)
    few = int(model.open.sum()) * sample.count <= SMALL and not given.alone
    search = _Search(model, sample, given.limits, began, rounds=2 if few else ROUNDS)
    search.run()
    ended = search.closed or not few
    late = left(given.limits, began).time_limit == 0
    solution = None if search.best is None else model.selected(np.flatnonzero(search.best))
    bound = search.bound if np.isfinite(search.bound) else None
    result = make_result(
        model,
        run,
        solver=given.name,
        version=f"numpy {np.__version__}, Python {platform.python_version()}",
        stopped="optimal" if search.closed else "time-limit" if late else "completed",
        solution=solution,
        bound=bound,
    )
    return result if ended or late else HandOn(result, bound)


class _Search:
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

    @property
    def closed(self) -> bool:
        """Whether the bound is met, up to the gap that is good enough."""
        near = max(self.limits.gap, 1e-9)
        return self.best is not None and self.bound - self.value <= near * max(
            1e-10, abs(self.value)
        )

    def _late(self) -> bool:
        return left(self.limits, self.began).time_limit == 0

    def run(self) -> None:
        """Find a selection, then prices, then selections by these."""
        chance = self.sample.measure.kind == "chance"
        candidates = self._chances if chance else self._means
        self._try(candidates(self.sample.rewards))
        self._price()
        if chance:
            self._try(candidates(self._adjusted()))
        else:
            self._try(self._priced())
            self._try(self._means(self.sample.rewards))
            if self.rounds == ROUNDS:
                self._try(self._moved())

    def _try(self, candidates: Iterator[None]) -> None:
        """Go on with selections as long as it pays."""
        if not self.closed:
            for _ in candidates:
                if self.closed or self._late():
                    return

    def _offer(self, chosen: Mask | None) -> bool:
        """Keep a selection if it is the best; tell whether it is one at all."""
        value = None if chosen is None else self.sample.value(chosen)
        if (
            chosen is not None
            and value is not None
            and value > self.value
            and not self._keeps(chosen)
        ):
            return False
        if value is not None and value > self.value:
            self.best, self.value = chosen, value
        return value is not None

    def _keeps(self, chosen: Mask) -> bool:
        """Tell whether a selection keeps every row of planned run times, in whole numbers."""
        program = self.program
        return program.broken(program.completed(np.flatnonzero(chosen).tolist())) is None

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
        place = np.full(len(chosen), -1)
        place[relaxed.at] = np.arange(len(relaxed.at))
        tail = self.sample.tail(chosen)
        jobs = tail.jobs[place[tail.jobs] >= 0]
        value, used = self.value, relaxed.rows @ chosen[relaxed.at]
        while len(jobs) > 2 and vain < VAIN * len(jobs):
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

    def _priced(self) -> Iterator[None]:
        """Try the selection that is best at the prices that were found."""
        gains = np.zeros(len(self.model.open))
        gains[self.relaxation.at] = self.relaxation.bound(self.prices, self.weights).gains
        self._offer(self._knapsack(gains, self.model.fill, self.model.open))
        yield

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
        place = np.full(len(chosen), -1)
        place[self.relaxation.at] = np.arange(len(self.relaxation.at))
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
        weights = np.full(sample.count, 1 / sample.count)
        if sample.measure.kind == "chance":
            weights = np.ones(sample.count)
        if sample.measure.kind == "cvar" and self.best is not None:
            weights = relaxed.worst(sample.in_time(self.best) @ sample.rewards)
        most = float(sample.rewards.sum())
        prices = np.full(relaxed.size, 0.1 * most / max(1, sample.count) / weights.mean() / 100)
        steps, best = Ascent(kept=0.3, patience=12, length=1.0), (prices, weights)
        for _ in range(STEPS * self.rounds // ROUNDS):
            found = relaxed.bound(prices, weights)
            value = found.value + SLIP * most
            better = value < self.bound * (1 - 1e-7)
            if value < self.bound:
                self.bound, best = value, (prices, weights)
            if self.closed or self._late() or steps.length < 1e-4:
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
                part = steps.length * (value - goal) / max(1e-300, float(away @ away))
                weights = relaxed.capped(weights - 0.3 * part * away)
        self.prices, self.weights = best

    def _adjusted(self) -> Floats:
        """Return rewards less what jobs ask for in the scenarios that are scarce."""
        relaxed, found = self.relaxation, self.sample.rewards.astype(np.float64)
        priced = self.prices[len(relaxed.room) :]
        priced = priced.reshape(len(relaxed.asked), self.sample.count)
        for price, asked in zip(priced, relaxed.asked, strict=True):
            mean = price.sum() * asked.mean(axis=0)
            found[relaxed.at] -= price @ asked - mean
        return np.maximum(0.0, found)


def _planned(program: Program, at: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the rows that can bind of planned run times, each as at most 1, 0 or -1."""
    place = {int(j): i for i, j in enumerate(at)}
    rows, room = [], []
    for row in program.rows:
        if any(j not in place for j in row.columns):
            continue  # it can be lifted
        for sign, most in ((1, row.upper), (-1, None if row.lower is None else -row.lower)):
            if most is None or sum(max(0, sign * c) for c in row.coefficients) <= most:
                continue
            unit = abs(most) or max(map(abs, row.coefficients))
            body = np.zeros(len(at))
            body[[place[j] for j in row.columns]] = [sign * c / unit for c in row.coefficients]
            rows.append(body)
            room.append(most / unit)
    return np.array(rows).reshape(len(rows), len(at)), np.array(room, dtype=np.float64)


def _total(row: Served, sample: Sample) -> float:
    return float((sample.drawn[:, row.jobs] @ row.work).max(initial=0))


def _asked(row: Served, sample: Sample, at: NDArray[np.intp]) -> Floats:
    """Return which part of a row's room each open job asks for in each scenario."""
    work = np.zeros(len(sample.open))
    work[row.jobs] = row.work.astype(np.float64)
    return np.asarray(sample.drawn[:, at] * (work[at] / row.room), dtype=np.float64)


def _flat(parts: list[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0)
