"""An exact search for the best selection under shares, which can be stopped and asked any time."""

from bisect import bisect_right
from collections.abc import Iterator
from math import floor, inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.dssp.selection.group_caps.alternatives import Menu, menu
from schedopt.solvers.dssp.selection.group_caps.capacity_price import capacity_prices
from schedopt.solvers.dssp.selection.group_caps.reading import Groups
from schedopt.solvers.dssp.selection.knapsack.items import Mask

ROUNDS: Final = (
    (32, 1 << 8),
    (64, 1 << 11),
    (256, 1 << 14),
    (1 << 10, 1 << 17),
    (1 << 12, 1 << 20),
)
"""Limits, round by round, on the alternatives of a group and on the states of their combination."""
MEMORY: Final = 1 << 30
"""Bytes that the states of all choices may take."""


class GroupCapsSearch:
    """Maximise the reward of `Groups`.

    The price of the capacity is sought first. At the best price, the worth of a selection falls
    short of the bound by what its groups' parts fall short of their best, and by the price of the
    room that is left. So an optimum is made of near-best parts, and those are few: they are listed
    and combined, keeping those nearest to the bound and remembering the highest bound that was
    dropped. If that is below the best selection found, this is the optimum; else the next round has
    more room.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._best: Mask | None = None
        self._value = -inf
        self._bound = inf
        self._price, self._dual = 0.0, inf
        self._steps = self._run()
        self.done = False
        self.hopeless = False

    @property
    def value(self) -> float | None:
        """The reward of the best selection so far; None while there is none."""
        return None if self._best is None else self._value

    @property
    def bound(self) -> float | None:
        """What no selection exceeds; None while nothing is known."""
        step = self._groups.step
        if self._bound == inf:
            return None
        return max(self._value, step * floor(self._bound / step))

    @property
    def proven(self) -> bool:
        """Whether the value is the optimum."""
        return self._best is not None and self.value == self.bound

    def chosen(self) -> NDArray[np.intp] | None:
        """Return the positions of the best selection so far, in order; None where there is none."""
        return None if self._best is None else np.sort(self._groups.positions[self._best])

    def advance(self, seconds: float) -> bool:
        """Search on for about so many seconds; tell whether there is nothing left to do."""
        end = now() + seconds
        while not self.done:
            if next(self._steps, None) is None or self.proven:
                self.done = True
            if now() >= end:
                break
        return self.done

    def _run(self) -> Iterator[bool]:
        """Search; yield now and then."""
        groups = self._groups
        fits: float | None = None
        for priced in capacity_prices(groups):
            if priced.bound < self._bound:
                self._bound = self._dual = priced.bound
                self._price = priced.price
            if priced.weight <= groups.room and priced.bound < inf:
                fits = priced.price
            yield True
        if self._bound == inf or fits is None:
            return  # some group, or all of them together, may not be able to keep the bounds
        for made in menu(groups, fits, 0.0, ROUNDS[-1][0]):
            yield True
            if made is not None and made.weight <= groups.room:
                self._keep_better(made.base, made.reward)
        for most, states in ROUNDS:
            made = None
            loss = self._dual - self._value - groups.step  # of a better selection, at the most
            for step in menu(groups, self._price, loss, most):
                made = step
                yield True
            if made is None:
                continue
            if len(made.choices) * states * 12 > MEMORY:
                return
            yield from self._combine_choices(made, states)
            if self.proven:
                return

    def _keep_better(self, chosen: Mask, reward: float) -> None:
        """Keep a selection if it is better than the best so far."""
        if reward > self._value:
            self._best, self._value = chosen.copy(), reward

    def _combine_choices(self, made: Menu, most: int) -> Iterator[bool]:
        """Combine the choices of a menu, one after the other."""
        from schedopt.solvers.dssp.selection.group_caps import kernels

        groups, price = self._groups, self._price
        room, slip = groups.room - made.weight, groups.slip(price)
        sizes = [choice.weights.size for choice in made.choices]
        first = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
        empty = [np.empty(0)]
        up, down, more, less = kernels.rates(
            first,
            np.concatenate([choice.weights for choice in made.choices] or empty),
            np.concatenate([choice.rewards for choice in made.choices] or empty),
        )
        if room >= 0:
            self._keep_better(made.base, made.reward)
        path = _Path()
        state = np.zeros(1), np.zeros(1), np.full(1, kernels.START, dtype=np.int32)
        # What is not on the menu is worth this at most.
        cut = made.reward + price * room - made.missing + slip
        for c, choice in enumerate(made.choices):
            if not state[0].size:
                break
            known = self._value - made.reward, groups.step - slip, price
            ends = float(up[c + 1]), float(down[c + 1]), float(more[c + 1]), float(less[c + 1])
            weights, rewards, parents, taken, reached = kernels.combine(
                state, (choice.weights, choice.rewards), room, ends, known, most
            )
            best, dropped, parent, alternative = reached
            if alternative >= 0:
                chosen = path.read(made, parent)
                choice.put(alternative, chosen)
                self._keep_better(chosen, made.reward + best)
            cut = max(cut, made.reward + dropped + slip)
            state = weights, rewards, path.add(c, parents, taken)
            yield True
        self._bound = min(self._bound, max(cut, self._value))


class _Path:
    """The states of all choices so far, each with the one that it comes from."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._parts: list[tuple[int, NDArray[np.int32], NDArray[np.int32]]] = []
        self._size = 0

    def add(
        self, choice: int, parents: NDArray[np.int32], taken: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Add the states of a choice; return their nodes."""
        self._starts.append(self._size)
        self._parts.append((choice, parents, taken))
        nodes = np.arange(self._size, self._size + parents.size, dtype=np.int32)
        self._size += parents.size
        return nodes

    def read(self, made: Menu, node: int) -> Mask:
        """Return the selection of items that a node stands for."""
        chosen = made.base.copy()
        while node >= 0:
            place = bisect_right(self._starts, node) - 1
            choice, parents, taken = self._parts[place]
            at = node - self._starts[place]
            if taken[at]:
                made.choices[choice].put(int(taken[at]), chosen)
            node = int(parents[at])
        return chosen
