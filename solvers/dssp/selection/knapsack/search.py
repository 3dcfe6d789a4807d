"""An exact search for selections with one capacity: a dynamic program over the core."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, gcd
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.program import IntegerProgram
from schedopt.solvers.clock import now
from schedopt.solvers.dssp.selection.priced_core import conclude
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, drive

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
SLACK = 2.0**-48
"""Relative rounding error that a bound may have; a state within it is kept."""


@dataclass(frozen=True)
class KnapsackParams:
    """Sizes of the search.

    Attributes
    ----------
    most_states : int
        The largest number of states of one item; beyond it the search gives up.
    most_in_all : int
        The largest number of states of all items, of which each takes 5 bytes.
    """

    most_states: int = 1_000_000
    most_in_all: int = 10_000_000


class KnapsackSearch:
    """Maximize Σ p_j x_j subject to Σ w_j x_j <= room, x_j in {0, 1}, in integers.

    Items are sorted by p_j / w_j. The break item is the first that does not fit after all items
    before it. The search starts from the items before the break item, the break solution, and
    decides on items outwards from there: items after it are added, items before it removed. An item
    whose change costs more than the gap is skipped. A state is a set of changes, with the room and
    the reward that it has. States that are dominated are dropped, and those whose linear bound is
    no better than the incumbent. If no state remains, the incumbent is optimal.

    Parameters
    ----------
    rewards, weights : ndarray of int64, shape (n,)
        p_j and w_j, positive; their sums have less than 62 bits.
    room : int
        Capacity; every item fits alone.
    params : KnapsackParams, optional

    Attributes
    ----------
    limit : int
        The upper bound on all rewards.
    is_full : bool
        Whether the search gave up because it has too many states.

    Notes
    -----
    Source: Pisinger, A minimal algorithm for the 0-1 knapsack problem, Operations Research 45,
    1997, with the bound of Dantzig, Operations Research 5, 1957.
    """

    def __init__(
        self, rewards: Ints, weights: Ints, room: int, params: KnapsackParams | None = None
    ) -> None:
        self.params = params or KnapsackParams()
        ratios = rewards / weights
        self._order = np.argsort(-ratios, kind="stable")
        self._rewards, self._weights = rewards[self._order], weights[self._order]
        self._ratios = ratios[self._order]
        filled = np.cumsum(self._weights)
        self._broken = int(np.searchsorted(filled, room, side="right"))
        left = room - (int(filled[self._broken - 1]) if self._broken else 0)
        reward = int(self._rewards[: self._broken].sum())
        self._step = gcd(*rewards.tolist()) or 1  # total rewards are multiples of it
        self._first = _first_incumbent(self._rewards, self._weights, self._broken, left)
        # reward, step and state of the incumbent, in one tuple for an interrupt in between
        self._incumbent = int(self._rewards[self._first].sum()), -1, -1
        self.limit, self.is_full = reward, False
        self._rooms, self._values = np.array([left]), np.array([reward])
        self._history: list[tuple[int, NDArray[np.int32], Mask]] = []
        self._in_all = 0
        if self._broken == rewards.size:  # all items fit
            self._rooms = self._rooms[:0]
            return
        prices = self._weights * self._ratios[self._broken]
        self._root = reward + left * float(self._ratios[self._broken])
        self._slack = SLACK * float(rewards.sum())
        self._losses = np.abs(self._rewards - prices)
        self.limit = self._rounded(self._root)
        self._right, self._left = self._broken, self._broken - 1

    @property
    def best(self) -> int:
        """The reward of the incumbent."""
        return self._incumbent[0]

    @property
    def proven(self) -> bool:
        """Whether the incumbent is optimal."""
        return self.best >= self.limit

    @property
    def value(self) -> float:
        """The reward of the incumbent, as `drive` reads it."""
        return float(self.best)

    @property
    def bound(self) -> float:
        """The upper bound, as `drive` reads it."""
        return float(self.limit)

    def chosen(self) -> Mask:
        """Return the incumbent, shape (n,)."""
        by_ratio = self._first.copy()
        _, step, state = self._incumbent
        if step >= 0:
            by_ratio[:] = np.arange(by_ratio.size) < self._broken
            for item, origin, changed in reversed(self._history[: step + 1]):
                by_ratio[item] ^= changed[state]
                state = origin[state]
        mask = np.empty_like(by_ratio)
        mask[self._order] = by_ratio
        return mask

    def advance(self, seconds: float) -> bool:
        """Decide on items for some seconds; return True if the search has ended."""
        end, pairs = now() + seconds, 0
        while not (self.proven or self.is_full):
            pairs += 1
            self._decide_next(prefer_right=pairs % 2 == 0)
            if now() >= end:
                break
        return self.proven or self.is_full

    def _decide_next(self, *, prefer_right: bool) -> None:
        """Decide on the next item on one side, or on the other if there is none."""
        self._skip()
        left, right = self._left, self._right
        has_right = right < self._rewards.size
        if has_right and (prefer_right or left < 0):
            self._right += 1
            self._decide(right, 1)
        elif left >= 0:
            self._left -= 1
            self._decide(left, -1)
        else:
            self.limit = self.best  # every set of changes was considered

    def _rounded(self, bound: float) -> int:
        """Return the largest total reward up to a bound."""
        return max(self.best, floor(bound + self._slack) // self._step * self._step)

    def _skip(self) -> None:
        """Pass items whose change costs more than the gap between the root bound and a gain."""
        most = self._root - self.best - self._step + self._slack
        after = np.flatnonzero(self._losses[self._right : self._right + 4096] <= most)
        while not after.size and self._right < self._losses.size:
            self._right = min(self._right + 4096, self._losses.size)
            after = np.flatnonzero(self._losses[self._right : self._right + 4096] <= most)
        self._right += int(after[0]) if after.size else 0
        while self._left >= 0:
            start = max(0, self._left - 4095)
            before = np.flatnonzero(self._losses[start : self._left + 1] <= most)
            if before.size:
                self._left = start + int(before[-1])
                break
            self._left = start - 1

    def _decide(self, item: int, sign: int) -> None:
        """Replace the states by those without and with the change of an item."""
        count = self._rooms.size
        rooms = np.concatenate((self._rooms, self._rooms - sign * self._weights[item]))
        values = np.concatenate((self._values, self._values + sign * self._rewards[item]))
        order = np.argsort(-rooms, kind="stable")  # merges two sorted lists
        rooms, values = rooms[order], values[order]
        better = np.ones(order.size, dtype=np.bool_)
        better[1:] = values[1:] > np.maximum.accumulate(values)[:-1]
        order, rooms, values = order[better], rooms[better], values[better]
        fitting = int(np.searchsorted(-rooms, 0, side="right"))
        best = max(self.best, int(values[fitting - 1]) if fitting else 0)
        self._skip()
        up = self._ratios[self._right] if self._right < self._ratios.size else 0.0
        down = self._ratios[self._left] if self._left >= 0 else np.inf
        with np.errstate(invalid="ignore"):
            bounds = values + np.where(rooms >= 0, rooms * up, rooms * down)
        keep = bounds >= best + self._step - self._slack
        if best > self.best:
            keep[fitting - 1] = True  # its changes are those of the incumbent
        order, bounds = order[keep], bounds[keep]
        self._rooms, self._values = rooms[keep], values[keep]
        self._history.append((item, (order % count).astype(np.int32), order >= count))
        if best > self.best:
            state = int(np.count_nonzero(keep[:fitting])) - 1
            self._incumbent = best, len(self._history) - 1, state
        top = float(bounds.max()) if bounds.size else -np.inf
        self.limit = min(self.limit, self._rounded(max(top, float(best))))
        self._in_all += order.size
        self.is_full = (
            order.size > self.params.most_states or self._in_all > self.params.most_in_all
        )


def _first_incumbent(rewards: Ints, weights: Ints, broken: int, left: int) -> Mask:
    """Return the break solution with the best exchange of a pair, and then filled greedily."""
    chosen = np.arange(rewards.size) < broken
    outside = broken + np.argsort(weights[broken:], kind="stable")
    if broken and outside.size:
        best = np.maximum.accumulate(rewards[outside])
        fitting = np.searchsorted(weights[outside], left + weights[:broken], side="right")
        gains = np.where(fitting > 0, best[fitting - 1], 0) - rewards[:broken]
        gone = int(np.argmax(gains))
        if gains[gone] > 0:
            among = outside[: fitting[gone]]
            added = among[np.argmax(rewards[among])]
            chosen[gone], chosen[added] = False, True
            left += int(weights[gone] - weights[added])
    while True:
        fits = np.flatnonzero(~chosen[broken:] & (weights[broken:] <= left))
        if not fits.size:
            return chosen
        run = (
            broken
            + fits[
                : max(
                    1, int(np.searchsorted(np.cumsum(weights[broken + fits]), left, side="right"))
                )
            ]
        )
        chosen[run] = True
        left -= int(weights[run].sum())


def items_of(program: IntegerProgram) -> tuple[Ints, NDArray[Any], NDArray[Any]]:
    """Return the weight of each column, the columns to decide on, and the columns that are free.

    A column is decided on if it is open, has a reward and fits alone. It is free if, in addition,
    it has no weight: then every solution can have it.
    """
    weights = np.zeros(program.n_columns, dtype=np.int64)
    weights[program.column] = program.coefficient
    worth = (program.high > 0) & (program.rewards > 0) & (weights <= program.upper[0])
    return weights, np.flatnonzero(worth & (weights > 0)), np.flatnonzero(worth & (weights == 0))


def is_knapsack(program: IntegerProgram) -> bool:
    """Return True if a program has one row, a capacity, and sums of 64 bits."""
    return (
        program.n_rows == 1
        and not program.exceeds_64_bits
        and not program.low.any()
        and not program.has_lower[0]
        and bool((program.coefficient >= 0).all())
        and int(program.upper[0]) >= 0
    )


def solve(model: Selection, task: EngineTask) -> Result[Selected] | Partial:
    """Solve a selection with one capacity. If the search gives up, the next engine continues."""
    run = Run(task.limits)
    program = model.integer_program()
    weights, items, free = items_of(program)
    room = int(min(program.upper[0], weights[items].sum()))
    search = KnapsackSearch(program.rewards[items], weights[items], room)
    offered = int(program.rewards[free].sum())
    stopped, message = drive(search, run, noise=0.0)
    if search.proven:
        stopped = "optimal"
    columns = np.zeros(program.n_columns, dtype=np.int8)
    columns[free] = 1
    columns[items[search.chosen()]] = 1
    bound = Fraction(search.limit + offered) / program.scale
    if search.is_full and not search.proven:
        message = "the search of the core has too many states"
    result = conclude(
        model,
        task,
        run,
        program,
        stopped=stopped,
        x=columns,
        bound=bound,
        proven=search.proven,
        message=message,
    )
    return Partial(result, bound) if stopped == "completed" and not task.alone else result
