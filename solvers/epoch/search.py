"""Search for partitions with fewer epochs, until a smaller number is proven impossible."""

from dataclasses import dataclass
from itertools import accumulate, chain, islice

import numpy as np

from schedopt.solvers.clock import now
from schedopt.solvers.epoch import completion
from schedopt.solvers.epoch.completion import Data, Stack
from schedopt.solvers.epoch.items import Items


@dataclass(frozen=True)
class CompletionParams:
    """Parameters of bin completion.

    Attributes
    ----------
    cells : int
        Most cells of all knapsack tables; larger instances are not searched.
    round_steps : int
        Steps for each number of epochs in the first round; they double in each further round.
    first_steps : int
        Steps before the clock is first checked.
    """

    cells: int = 1 << 26
    round_steps: int = 100_000
    first_steps: int = 2_000


DEFAULTS = CompletionParams()


class Completion:
    """Bin completion for each number of epochs between the lower bound and the best partition.

    Each number is given some steps in turn, more in each round. A partition lowers the upper end; a
    number that is exhausted raises the lower bound. Partitions are lists of positions of jobs.
    """

    def __init__(
        self,
        items: Items,
        least: int,
        known: list[list[int]],
        params: CompletionParams = DEFAULTS,
    ) -> None:
        self.items, self.least, self.epochs = items, least, known
        self._most = len(known)
        self._data, self._stack = _new_arrays(items, self._most)
        self._target = least
        self._spent, self._patience = 0, params.round_steps
        self._chunk = params.first_steps
        self._begin()

    @staticmethod
    def fits(items: Items, epochs: int, params: CompletionParams = DEFAULTS) -> bool:
        """Return True if the tables of a search from so many epochs are small enough."""
        return (epochs + 1) * (_most_kinds_in_epoch(items) + 1) * (items.nodes + 1) <= params.cells

    @property
    def value(self) -> float:
        """The overhead of the best partition so far."""
        return float(self.items.nodes * len(self.epochs))

    @property
    def bound(self) -> float:
        """A lower bound on the overhead."""
        return float(self.items.nodes * self.least)

    def advance(self, seconds: float) -> bool:
        """Work for about ``seconds``; return True when the search has ended."""
        until = now() + seconds
        while self.least < self._most:
            began = now()
            steps = min(self._chunk, self._patience - self._spent)
            outcome = completion.advance(self._data, self._stack, self._target, steps)
            ended = now()
            if steps == self._chunk and ended - began < 0.01:
                self._chunk *= 2
            self._spent += steps
            if outcome == completion.FOUND:
                self.epochs = self._partition_on_stack()
                self._most = len(self.epochs)
                self._restart(self.least)
            elif outcome == completion.NONE:
                self.least = self._target + 1
                self._restart(self.least)
            elif self._spent >= self._patience:
                self._restart(self._target + 1)
            if ended >= until:
                break
        return self.least >= self._most

    def _restart(self, target: int) -> None:
        """Continue with the next number of epochs; after the largest, with the least."""
        if target >= self._most:
            target, self._patience = self.least, 2 * self._patience
        self._target, self._spent = target, 0
        self._begin()

    def _begin(self) -> None:
        stack = self._stack
        stack.at[completion.DEPTH], stack.at[completion.MODE] = 0, completion.ENTER

    def _partition_on_stack(self) -> list[list[int]]:
        """Return the partition on the stack, as positions of jobs."""
        left, jobs = self._stack.left, [iter(kind.jobs) for kind in self.items.kinds]
        epochs = []
        for d in range(int(self._stack.at[completion.DEPTH])):
            taken = zip(self.items.kinds, jobs, (left[d] - left[d + 1]).tolist(), strict=True)
            parts = (islice(mine, n * len(kind.sizes)) for kind, mine, n in taken)
            epochs.append(list(chain.from_iterable(parts)))
        return epochs


def _most_kinds_in_epoch(items: Items) -> int:
    """Return the most kinds that a leader's epoch can hold, without the jobs that fill it up."""
    tops = np.array([kind.top for kind in items.kinds])
    ruled = np.append(np.cumsum([not kind.free for kind in items.kinds][::-1])[::-1], 0)
    below = np.searchsorted(-tops, items.inequity - tops, side="right")  # a leader's reach
    return int((below - np.arange(len(tops)) + ruled[below]).max())


def _new_arrays(items: Items, most: int) -> tuple[Data, Stack]:
    """Return empty arrays for up to ``most`` epochs."""
    kinds, wide = len(items.kinds), _most_kinds_in_epoch(items)
    data = Data(
        inequity=items.inequity,
        nodes=items.nodes,
        top=np.array([kind.top for kind in items.kinds]),
        best_width=np.array([kind.best_width(items.inequity) for kind in items.kinds]),
        free=np.array([kind.free for kind in items.kinds]),
        begin=np.array([0, *accumulate(len(kind.sizes) for kind in items.kinds)]),
        sizes=np.array([size for kind in items.kinds for size in kind.sizes]),
        clash=items.clash,
    )
    stack = Stack(
        at=np.zeros(2, dtype=np.int64),
        left=np.zeros((most + 1, kinds), dtype=np.int64),
        kinds=np.zeros((most + 1, wide), dtype=np.int64),
        width=np.zeros((most + 1, wide), dtype=np.int64),
        take=np.zeros((most + 1, wide), dtype=np.int64),
        frame=np.zeros((most + 1, completion.COLUMNS), dtype=np.int64),
        table=np.empty((most + 1, wide + 1, items.nodes + 1), dtype=np.int32),
    )
    stack.left[0] = [kind.count for kind in items.kinds]
    return data, stack
