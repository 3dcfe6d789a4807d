"""Search a hard knapsack from both ends: lists of the heavy items bound those of the light ones.

Dantzig's bound knows nothing of gaps between what a few heavy items can weigh, and where these
decide, the states of a search become too many. Here items stand by falling weight. One list holds
what the first k of them can weigh and be worth, another what the rest can; a state is of interest
only if what the other list adds to it may beat the best so far. A list that grows too long is
relaxed: neighbours become one state, with the least weight and the greatest reward of any. So it
remains a bound. By turns either side is listed anew, pruned by the lists of the other, of twice the
length: each time there is less to relax. Where no state remains, the best so far is proven.

Between these a dive looks for a better selection: it goes on with real states, those of the
largest bounds. Where memory allows no longer lists, and those of this length tell nothing new, it
comes back to the others, too: then nothing is missing, and it takes time instead of memory.

Source: after the relaxed and restricted diagrams of Bergman, Cire, van Hoeve and Hooker, Decision
diagrams for optimization, 2016.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask

FIRST: Final = 1 << 13
"""States of a list at first."""
DIVING: Final = 1 << 13
"""States that a dive goes on with."""
_BYTES: Final = 16  # of a state: weight and reward

Listed = tuple[Floats, Floats]
"""What some items weigh and are worth, both rising."""


class TwoListSearch:
    """Maximise Σ R_j x_j, as far as it exceeds a value, over sets that fit.

    Weights and rewards are whole numbers whose sums are exact; `value`: what is known, which
    others differ from by multiples of `step`; `price`: of a unit of room, by which it is
    judged what relaxing costs.
    """

    def __init__(
        self,
        items: tuple[Floats, Floats],
        room: float,
        value: float,
        *,
        step: float,
        price: float,
        memory: int,
    ) -> None:
        weights, rewards = items
        self._order = np.lexsort((rewards, -weights))
        self._weights, self._rewards = weights[self._order], rewards[self._order]
        self._room, self._step, self._price = room, step, price
        self.value, self.bound, self.proven = value, np.inf, False
        self.chosen: Mask | None = None  # where anything better was found
        self._share = memory // 3 // _BYTES  # states of one side's lists, or of a dive's
        self._length = FIRST
        self._going = self._alternate_halves()

    def advance(self) -> None:
        """Take one small step. After an interruption it begins another turn."""
        try:
            self.proven = next(self._going, None) is None
        except BaseException:
            self._going = self._alternate_halves()
            raise
        if self.proven:
            self.bound = self.value

    def _alternate_halves(self) -> Iterator[bool]:
        """List either side by turns, and dive; ends when the value is proven."""
        count = self._weights.size
        heavy: list[Listed] | None = None
        light: list[Listed] | None = None
        largest, known = 4 * max(self._share // max(count, 1), 16), (np.nan, np.nan)
        while True:
            light = yield from self._list_half(heavy, light_items=True)
            before, known = known, (self.value, self.bound)
            stuck = self._length >= largest and known == before
            if light is None or (yield from self._extend_most_promising(light, stuck)):
                return
            heavy = yield from self._list_half(light, light_items=False)
            if heavy is None:
                return
            self._length = min(2 * self._length, largest)

    def _list_half(self, other: list[Listed] | None, *, light_items: bool) -> Any:
        """Yield while lists are made; return those of the first k items, None if none is left.

        Of the light items these are the last k. `other` is used up.
        """
        count, limit = self._weights.size, self._share
        sums = np.concatenate(([0.0], np.cumsum(self._rewards)))
        lists: list[Any] = [None] * (count + 1)
        state: Listed = (np.zeros(1), np.zeros(1))
        slack = 0.0
        lists[count if light_items else 0] = state
        for k in range(count):
            item, at = (count - 1 - k,) * 2 if light_items else (k, k + 1)
            against = (np.zeros(1), sums[at : at + 1]) if other is None else other[at]
            if other is not None:
                other[at] = (against[0][:0], against[1][:0])
            state, bounds = self._extend_states(state, item, against)
            if not state[0].size:
                return None
            most = max(min(self._length, limit // (count - k)), 16)
            if state[0].size > most:
                state, slack = self._merge_neighbours(state, most, slack)
            lists[at] = state = (state[0].copy(), state[1].copy())
            limit -= state[0].size
            yield False
        self.bound = min(self.bound, float(bounds.max()))
        return lists

    def _extend_states(self, state: Listed, item: int, against: Listed) -> tuple[Listed, Floats]:
        """Return the states without and with an item, and their bounds, those of interest."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        size = 2 * state[0].size
        made = np.empty(size), np.empty(size), np.empty(size)
        weight, reward = float(self._weights[item]), float(self._rewards[item])
        goal = self.value + self._step
        found = kernels.extend(state, (weight, reward), self._room, against, goal, made)
        return (made[0][:found], made[1][:found]), made[2][:found]

    def _merge_neighbours(self, state: Listed, most: int, slack: float) -> tuple[Listed, float]:
        """Let neighbours become one, whose reward less its price rises as little as possible."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        low, high = 0.0, max(slack / 2, 0.5)
        while kernels.merge_neighbours(state, self._price, high, write=False) > most:
            low, high = high, 2 * high
        for _ in range(3):
            middle = (low + high) / 2
            if kernels.merge_neighbours(state, self._price, middle, write=False) > most:
                low = middle
            else:
                high = middle
        found = kernels.merge_neighbours(state, self._price, high, write=True)
        return (state[0][:found], state[1][:found]), high

    def _extend_most_promising(self, light: list[Listed], everywhere: bool) -> Any:
        """Go on with real states, the most promising first; tell whether none is left out.

        `everywhere`: whether to come back to the others.
        """
        count = self._weights.size
        few = max(self._share // (2 * count + 1), 1)
        few = few if everywhere else min(DIVING, few)
        path: list[Any] = [None] * (count + 1)
        others: list[tuple[int, Listed]] = [(0, (np.zeros(1), np.zeros(1)))]
        complete = True
        while others:
            level, state = others.pop()
            while state[0].size:
                path[level] = state
                if level == count:
                    self._keep_best(path)
                    break
                state, bounds = self._extend_states(state, level, light[level + 1])
                level += 1
                if state[0].size > few:
                    order = np.argsort(-bounds, kind="stable")
                    first, rest = np.sort(order[:few]), np.sort(order[few:])
                    if everywhere:
                        others.append((level, (state[0][rest], state[1][rest])))
                    complete = everywhere
                    state = state[0][first], state[1][first]
                else:
                    state = state[0].copy(), state[1].copy()
                yield False
        return complete

    def _keep_best(self, path: list[Listed]) -> None:
        """Keep the best of the last states, if nothing better is known; find out its items."""
        used, worth = float(path[-1][0][-1]), float(path[-1][1][-1])
        if worth <= self.value:
            return
        chosen = np.zeros(self._weights.size, dtype=np.bool_)
        self.value, self.chosen = worth, chosen
        for k in range(self._weights.size - 1, -1, -1):
            weights, rewards = path[k]
            place = np.searchsorted(weights, used)
            if place == weights.size or weights[place] != used or rewards[place] != worth:
                chosen[self._order[k]] = True
                used, worth = used - self._weights[k], worth - self._rewards[k]
