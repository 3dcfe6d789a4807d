"""A search for partitions into fewer and fewer epochs, and for the proof that there are none."""

from __future__ import annotations

from functools import cache
from itertools import accumulate

import numpy as np

from schedopt.solvers.clock import now
from schedopt.solvers.epoch import completion
from schedopt.solvers.epoch.completion import Data, Memory, Stack
from schedopt.solvers.epoch.items import Items, Kind

MOST_CELLS = 1 << 26
"""Cells of all knapsack tables beyond which there is no search."""

MOST_REMEMBERED = 1 << 25
"""Numbers in the memory of what failed."""

PATIENCE = 100_000
"""Steps for each number of epochs at first; twice as many in each further round."""

CHUNK = 2_000
"""Steps before the clock is looked at for the first time."""


class Completion:
    """Bin completion for one number of epochs after the other, from a bound up to what is known.

    Each number between is given some steps in turn, more in each round. What is found lowers the
    top; where a number is exhausted, no partition has so few epochs.

    Parameters
    ----------
    items : Items
        What is packed; possible, with k >= 1.
    least : int
        Epochs that no partition is below.
    known : list of list of int
        A partition, as positions of jobs.

    Attributes
    ----------
    least : int
        Epochs that no partition is below.
    epochs : list of list of int
        The best partition so far.
    steps : int
        Steps that were made.
    """

    def __init__(self, items: Items, least: int, known: list[list[int]]) -> None:
        self.items, self.least, self.epochs = items, least, known
        self._data, self._stack, self._memory = _prepared(items, len(known))
        self._target, self._spent, self._patience = least, 0, PATIENCE
        self.steps = 0
        self._chunk = CHUNK
        self._begin()

    @staticmethod
    def fits(items: Items) -> bool:
        """Tell whether the tables of a search are small enough."""
        return items.inequity > 0 and _widest(items) * (items.nodes + 1) <= MOST_CELLS

    @property
    def value(self) -> float:
        """The overhead of the best partition so far."""
        return float(self.items.nodes * len(self.epochs))

    @property
    def bound(self) -> float:
        """An overhead that no partition is below."""
        return float(self.items.nodes * self.least)

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether the fewest epochs are known."""
        until = now() + seconds
        while self.least < len(self.epochs):
            began = now()
            steps = min(self._chunk, self._patience - self._spent)
            outcome = completion.advance(self._data, self._stack, self._memory, self._target, steps)
            ended = now()
            if steps == self._chunk and ended - began < 0.01:
                self._chunk *= 2
            self._spent += steps
            self.steps += steps
            if outcome == completion.FOUND:
                self.epochs = self._found()
                self._restart(self.least)
            elif outcome == completion.NONE:
                self.least = self._target + 1
                self._restart(self.least)
            elif self._spent >= self._patience:
                self._restart(self._target + 1)
            if ended >= until:
                break
        return self.least >= len(self.epochs)

    def raise_bound(self, least: int) -> None:
        """Take over a bound that another method has proven."""
        if least > self.least:
            self.least = least
            if self._target < least:
                self._restart(least)

    def _restart(self, target: int) -> None:
        """Go on with another number of epochs, after the largest with the least."""
        if target >= len(self.epochs):
            target, self._patience = self.least, 2 * self._patience
        self._target, self._spent = target, 0
        self._begin()

    def _begin(self) -> None:
        stack = self._stack
        stack.at[completion.DEPTH], stack.at[completion.MODE] = 0, completion.ENTER

    def _found(self) -> list[list[int]]:
        """Return the partition on the stack, as positions of jobs."""
        stack = self._stack
        left = [list(kind.items) for kind in self.items.kinds]
        epochs = []
        for d in range(int(stack.at[completion.DEPTH])):
            gone = (stack.left[d] - stack.left[d + 1]).tolist()
            epochs.append([j for t, n in enumerate(gone) for _ in range(n) for j in left[t].pop(0)])
        return epochs


def _widest(items: Items) -> int:
    """Return how many kinds a leader's epoch can hold, other than by filling up, at most."""
    widest, low, told = 0, 0, 0
    tops = [kind.top for kind in items.kinds]
    free = [kind.free for kind in items.kinds]
    for first, top in enumerate(tops):
        while low < len(tops) and tops[low] >= top - items.inequity:
            low += 1
        told = sum(not is_free for is_free in free[low:])
        widest = max(widest, low - first + told)
    return widest


def _prepared(items: Items, most: int) -> tuple[Data, Stack, Memory]:
    """Return all arrays, for up to so many epochs; nothing is packed yet."""
    kinds, nodes, wide = len(items.kinds), items.nodes, _widest(items)
    draw = np.random.Generator(np.random.PCG64(1))
    data = Data(
        nodes=nodes,
        inequity=items.inequity,
        top=np.array([kind.top for kind in items.kinds]),
        own=np.array([kind.own(items.inequity) for kind in items.kinds]),
        free=np.array([kind.free for kind in items.kinds]),
        begin=np.array([0, *accumulate(len(kind.sizes) for kind in items.kinds)]),
        sizes=np.array([size for kind in items.kinds for size in kind.sizes]),
        clash=items.clash,
        salt=2 * draw.integers(0, 2**62, kinds) + 1,
    )
    stack = Stack(
        at=np.zeros(4, dtype=np.int64),
        left=np.zeros((most + 1, kinds), dtype=np.int64),
        kinds=np.zeros((most + 1, wide), dtype=np.int64),
        width=np.zeros((most + 1, wide), dtype=np.int64),
        take=np.zeros((most + 1, wide), dtype=np.int64),
        frame=np.zeros((most + 1, completion.COLUMNS), dtype=np.int64),
        table=np.empty((completion.TABLES, wide + 1, nodes + 1), dtype=np.int32),
        owner=np.zeros(completion.TABLES, dtype=np.int64),
    )
    stack.left[0] = [len(kind.items) for kind in items.kinds]
    stack.frame[0, completion.KEY] = np.sum(data.salt * stack.left[0])
    rows = MOST_REMEMBERED // (kinds + 1)
    memory = Memory(
        slots=np.zeros(1 << (2 * rows).bit_length(), dtype=np.int64),
        rows=np.empty((rows, kinds + 1), dtype=np.int32),
    )
    return data, stack, memory


def compiled() -> float:
    """Compile the search, or load it compiled; return the seconds that this took."""
    began = now()
    _compile()
    return now() - began


@cache
def _compile() -> None:
    one = Kind((1,), [(0,)], True)
    packed = Items(1, 1, [one], np.zeros((1, 1), dtype=np.bool_), 1)
    Completion(packed, 0, [[0]]).advance(0.0)
