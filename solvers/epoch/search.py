"""Search for partitions with fewer epochs, until a smaller number is proven impossible."""

from dataclasses import dataclass
from itertools import accumulate, chain, islice

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.arithmetic import divisors
from schedopt.solvers.clock import now
from schedopt.solvers.epoch import completion
from schedopt.solvers.epoch.completion import Data, Memory, Stack
from schedopt.solvers.epoch.items import Items


@dataclass(frozen=True)
class CompletionParams:
    """Parameters of bin completion.

    Attributes
    ----------
    cells : int
        Most cells of all knapsack tables; larger instances are not searched.
    stored_numbers : int
        Most numbers in the table of failed states.
    round_steps : int
        Steps for each number of epochs in the first round; they double in each further round.
    first_steps : int
        Steps before the clock is first checked.
    """

    cells: int = 1 << 26
    stored_numbers: int = 1 << 25
    round_steps: int = 100_000
    first_steps: int = 2_000


DEFAULTS = CompletionParams()


class Completion:
    """Bin completion for each number of epochs between the lower bound and the best partition.

    Each number is given some steps in turn, more in each round. A partition lowers the upper end; a
    number that is exhausted raises the lower bound. Without a known partition, one with at most as
    many epochs as jobs is searched for first. Partitions are lists of positions of jobs.
    """

    def __init__(
        self,
        items: Items,
        least: int,
        known: list[list[int]] | None,
        params: CompletionParams = DEFAULTS,
    ) -> None:
        self.items, self.least, self.epochs = items, least, known
        self._most = items.jobs + 1 if known is None else len(known)
        self._data, self._stack, self._memory = _new_arrays(
            items, self._most, params.stored_numbers
        )
        self._target = items.jobs if known is None else least
        self._spent, self._patience = 0, params.round_steps
        self._chunk = params.first_steps
        self._begin()

    @staticmethod
    def fits(items: Items, params: CompletionParams = DEFAULTS) -> bool:
        """Return True if the tables of the search are small enough."""
        remaining = items.jobs * len(items.kinds) if items.inequity == 0 else 0
        return (
            max(remaining, _most_kinds_in_epoch(items) * (int(_room_of_epoch(items)[0]) + 1))
            <= params.cells
        )

    @property
    def value(self) -> float | None:
        """The overhead of the best partition so far."""
        return None if self.epochs is None else float(self.items.nodes * len(self.epochs))

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
            outcome = completion.advance(self._data, self._stack, self._memory, self._target, steps)
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
    if items.inequity == 0:
        return sum(not kind.free for kind in items.kinds)
    tops = np.array([kind.top for kind in items.kinds])
    ruled = np.append(np.cumsum([not kind.free for kind in items.kinds][::-1])[::-1], 0)
    below = np.searchsorted(-tops, items.inequity - tops, side="right")  # a leader's reach
    return int((below - np.arange(len(tops)) + ruled[below]).max())


def _room_of_epoch(items: Items) -> NDArray[np.int64]:
    """Return the sizes that an epoch may have: all nodes, or the divisors of their number."""
    if items.inequity:
        return np.array([items.nodes])
    return np.array([h for h in divisors(items.nodes) if h <= items.jobs])


def _new_arrays(items: Items, most: int, stored: int) -> tuple[Data, Stack, Memory]:
    """Return empty arrays for up to ``most`` epochs and about ``stored`` numbers of failures."""
    kinds, wide, rooms = len(items.kinds), _most_kinds_in_epoch(items), _room_of_epoch(items)
    equal = items.inequity == 0
    draw = np.random.Generator(np.random.PCG64(1))
    data = Data(
        inequity=items.inequity,
        rooms=rooms,
        widest=items.nodes // rooms if equal else rooms,
        top=np.array([kind.top for kind in items.kinds]),
        best_width=np.array(
            [len(k.sizes) if equal else k.best_width(items.inequity) for k in items.kinds]
        ),
        free=np.array([kind.free for kind in items.kinds]),
        begin=np.array([0, *accumulate(len(kind.sizes) for kind in items.kinds)]),
        sizes=np.array([size for kind in items.kinds for size in kind.sizes]),
        clash=items.clash,
        salt=2 * draw.integers(0, 2**30, kinds) + 1,
    )
    stack = Stack(
        at=np.zeros(4, dtype=np.int64),
        left=np.zeros((most + 1, kinds), dtype=np.int64),
        kinds=np.zeros((most + 1, wide), dtype=np.int64),
        width=np.zeros((most + 1, wide), dtype=np.int64),
        take=np.zeros((most + 1, wide), dtype=np.int64),
        frame=np.zeros((most + 1, completion.COLUMNS), dtype=np.int64),
        table=np.empty((completion.TABLES, wide + 1, int(rooms[0]) + 1), dtype=np.int32),
        owner=np.zeros(completion.TABLES, dtype=np.int64),
    )
    stack.left[0] = [kind.count for kind in items.kinds]
    stack.frame[0, completion.KEY] = np.sum(data.salt * stack.left[0]) & completion.KEY_MASK
    rows = stored // (kinds + 1)
    memory = Memory(
        slots=np.zeros(1 << (2 * rows).bit_length(), dtype=np.int64),
        rows=np.empty((rows, kinds + 1), dtype=np.int32),
    )
    return data, stack, memory
