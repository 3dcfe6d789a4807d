"""Compiled bin completion: fills epochs one after another, each led by the largest remaining item.

The search decides exactly whether a partition into at most a given number of epochs exists. The
nodes beyond the minima of all jobs are a budget: an epoch may leave at most that many unused, which
leaves few ways to fill it if the packing is tight. A knapsack over the items that the epoch could
hold gives these ways. The inequity is at least 1.

Source: Korf, "A new algorithm for optimal bin packing", AAAI 2002. The rule of epochs, in which a
job's allotment follows from the largest job, is our own.
"""

from itertools import accumulate, chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.compiling import kernel
from schedopt.solvers.epoch.bounding import Items

Longs = NDArray[np.int64]
Shorts = NDArray[np.int32]
Bools = NDArray[np.bool_]

ENTER, DOWN, BACK = range(3)
FOUND, NONE, PAUSED = range(3)
DEPTH, MODE = range(2)
TAIL, MANY, POSITION, ROOM, GAINED, NEED, FLOOR, BELOW, LEADER = range(9)
COLUMNS = 9
MOST_CELLS = 1 << 26
"""Most cells of all knapsack tables; larger instances are not searched."""
FIRST_STEPS = 2_000
"""Steps before the clock is first checked."""


class Data(NamedTuple):
    """Kinds of items in order of decreasing largest minimum, and the machine.

    One item of kind t has the minima ``sizes[begin[t]:begin[t + 1]]``.
    """

    inequity: int
    nodes: int
    top: Longs  # the largest minimum of one item, (T,)
    best_width: Longs  # the nodes that one item takes at least, (T,)
    free: Bools  # whether no side constraint mentions the kind, (T,)
    begin: Longs
    sizes: Longs
    clash: Bools  # (T, T)


class Stack(NamedTuple):
    """The remaining items at each depth, and the progress of filling its epoch.

    The columns of a frame: number of the largest free jobs below the leader's reach that fill the
    epoch up (TAIL); number of kinds that it may hold (MANY), and the next of them to decide
    (POSITION); remaining room (ROOM); least nodes that its items take (GAINED), and how much of
    that it must hold, since it does not fit the other epochs (NEED); nodes of each job of the tail
    (FLOOR); first kind below the leader's reach (BELOW); largest remaining kind (LEADER).
    """

    at: Longs  # depth, what to do next
    left: Longs  # items of each kind that are left, (P + 1, T)
    kinds: Longs  # that the epoch may hold, (P + 1, C)
    width: Longs  # what an item of each takes there, (P + 1, C)
    take: Longs  # how many it holds of each, (P + 1, C)
    frame: Longs  # (P + 1, 9)
    # what items of the kinds from one on, filling a room, take at least; the most of it, by depth
    table: Shorts  # (P + 1, C + 1, N + 1)


@kernel()
def advance(data: Data, stack: Stack, epochs: int, steps: int) -> int:
    """Search for a number of steps; return `FOUND`, `NONE` (no partition exists) or `PAUSED`."""
    at = stack.at
    for _ in range(steps):
        d = at[DEPTH]
        if d < 0:
            return NONE
        if at[MODE] == ENTER:
            if _nothing_remains(stack, d):
                return FOUND
            at[MODE] = DOWN
            if d == epochs or not _open_epoch(data, stack, d, epochs):
                at[DEPTH], at[MODE] = d - 1, BACK
        elif at[MODE] == DOWN:
            c = stack.frame[d, POSITION]
            if c < stack.frame[d, MANY]:
                at[MODE] = (
                    DOWN if _take_items(data, stack, d, c, _most_items(data, stack, d, c)) else BACK
                )
            elif _fill_up_epoch(data, stack, d):
                _close_epoch(data, stack, d)
                at[DEPTH], at[MODE] = d + 1, ENTER
            else:
                at[MODE] = BACK
        else:
            _backtrack(data, stack, d)
    return PAUSED


def _backtrack(data: Data, stack: Stack, d: int) -> None:
    """Take one item fewer of the last kind if that can help, or else return to the kind before."""
    at, frame = stack.at, stack.frame[d]
    c = frame[POSITION] - 1
    if c < 0:
        at[DEPTH] = d - 1
        return
    taken = stack.take[d, c]
    frame[ROOM] += taken * stack.width[d, c]
    frame[GAINED] -= taken * data.best_width[stack.kinds[d, c]]
    frame[POSITION] = c
    if _take_items(data, stack, d, c, taken - 1):
        at[MODE] = DOWN


def _nothing_remains(stack: Stack, d: int) -> bool:
    """Return True if no item remains at a depth."""
    for t in range(stack.left.shape[1]):  # noqa: SIM110  a loop compiles faster
        if stack.left[d, t] > 0:
            return False
    return True


def _open_epoch(data: Data, stack: Stack, d: int, epochs: int) -> bool:
    """Open an epoch: its leader, the kinds that it may hold, and how full it must be.

    Return False if the other epochs cannot hold the remaining items.
    """
    remaining, frame = stack.left[d], stack.frame[d]
    kinds, first, owned = len(data.top), 0, 0
    while remaining[first] == 0:
        first += 1
    floor = max(1, data.top[first] - data.inequity)
    many, below = 0, kinds
    for t in range(first, kinds):
        owned += remaining[t] * data.best_width[t]
        if remaining[t] == 0:
            continue
        if data.free[t] and data.top[t] < floor:
            below = min(below, t)
            continue
        width = 0
        for s in range(data.begin[t], data.begin[t + 1]):
            width += max(data.sizes[s], floor)
        stack.kinds[d, many], stack.width[d, many] = t, width
        many += 1
    frame[MANY], frame[BELOW], frame[FLOOR], frame[LEADER] = many, below, floor, first
    frame[NEED] = owned - (epochs - d - 1) * data.nodes
    frame[ROOM], frame[POSITION], frame[GAINED] = data.nodes, 0, 0
    if frame[NEED] > data.nodes:
        return False
    _fill_table(data, stack, d)
    return True


def _fill_table(data: Data, stack: Stack, d: int) -> None:
    """Compute the knapsack table of a depth."""
    table, remaining, frame = stack.table[d], stack.left[d], stack.frame[d]
    many = frame[MANY]
    t, spare, gained = frame[BELOW], 0, 0
    filled = 0  # the rooms up to here are done
    while filled <= data.nodes:  # the largest jobs below the leader's reach, each on `floor` nodes
        until = min(data.nodes + 1, filled + frame[FLOOR])
        while filled < until:
            table[many, filled] = gained
            filled += 1
        while t < len(data.top) and (not data.free[t] or remaining[t] <= spare):
            t, spare = t + 1, 0
        if t < len(data.top):
            gained += data.best_width[t]
            spare += 1
    for c in range(many - 1, -1, -1):
        kind, width = stack.kinds[d, c], stack.width[d, c]
        for room in range(data.nodes + 1):
            best = table[c + 1, room]
            for q in range(1, min(remaining[kind], room // width) + 1):
                best = max(best, table[c + 1, room - q * width] + q * data.best_width[kind])
            table[c, room] = best


def _most_items(data: Data, stack: Stack, d: int, c: int) -> int:
    """Return how many more items of the c-th kind the epoch may hold."""
    kind = stack.kinds[d, c]
    if not data.free[kind]:
        for other in range(c):
            if stack.take[d, other] > 0 and data.clash[kind, stack.kinds[d, other]]:
                return 0
    most: int = min(stack.left[d, kind], stack.frame[d, ROOM] // stack.width[d, c])
    return most


def _take_items(data: Data, stack: Stack, d: int, c: int, most: int) -> bool:
    """Take ``most`` items of the c-th kind, or fewer if the epoch stays full enough."""
    table, frame = stack.table[d], stack.frame[d]
    kind, width = stack.kinds[d, c], stack.width[d, c]
    least = 1 if kind == frame[LEADER] else 0  # the leader is in
    for q in range(most, least - 1, -1):
        room, gained = frame[ROOM] - q * width, frame[GAINED] + q * data.best_width[kind]
        if gained + table[c + 1, room] >= frame[NEED]:
            stack.take[d, c] = q
            frame[ROOM], frame[GAINED], frame[POSITION] = room, gained, c + 1
            return True
    return False


def _fill_up_epoch(data: Data, stack: Stack, d: int) -> bool:
    """Fill the epoch up with smaller jobs; return True if the filling is not dominated.

    It is dominated if a remaining free job fits in addition, or in place of a smaller one: a
    partition with this filling can then be changed into one with the other.
    """
    remaining, frame = stack.left[d], stack.frame[d]
    floor, room = frame[FLOOR], frame[ROOM]
    tail = 0
    for t in range(frame[BELOW], len(data.top)):
        if data.free[t]:
            tail += min(remaining[t], room // floor - tail)
    frame[TAIL] = tail
    spare = room - tail * floor
    wider = 0  # the width of the smallest job so far that is left
    for c in range(frame[MANY]):
        kind, width = stack.kinds[d, c], stack.width[d, c]
        if not data.free[kind]:
            continue
        if wider > 0 and stack.take[d, c] > 0 and wider - width <= spare:
            return False
        if remaining[kind] > stack.take[d, c]:
            wider = width
    return wider == 0 or (wider > spare and (tail == 0 or wider - floor > spare))


def _close_epoch(data: Data, stack: Stack, d: int) -> None:
    """Compute the remaining items after the epoch."""
    after, frame = stack.left[d + 1], stack.frame[d]
    for t in range(len(data.top)):
        after[t] = stack.left[d, t]
    for c in range(frame[MANY]):
        after[stack.kinds[d, c]] -= stack.take[d, c]
    tail, t = frame[TAIL], frame[BELOW]
    while tail > 0:
        if data.free[t]:
            some = min(after[t], tail)
            after[t] -= some
            tail -= some
        t += 1


class Completion:
    """Bin completion for each number of epochs from the lower bound on, until one suffices.

    Partitions are lists of positions of jobs.
    """

    def __init__(self, items: Items, least: int, known: list[list[int]]) -> None:
        self.items, self.least, self.epochs = items, least, known
        self._data, self._stack = _new_arrays(items, len(known))
        self._steps = FIRST_STEPS

    @staticmethod
    def fits(items: Items, epochs: int) -> bool:
        """Return True if the tables of a search from so many epochs are small enough."""
        return (epochs + 1) * (_most_kinds_in_epoch(items) + 1) * (items.nodes + 1) <= MOST_CELLS

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
        while self.least < len(self.epochs):
            began = now()
            outcome = advance(self._data, self._stack, self.least, self._steps)
            if outcome == FOUND:
                self.epochs = self._partition_on_stack()
            elif outcome == NONE:
                self.least += 1
                self._stack.at[:] = 0, ENTER
            if now() - began < 0.01:
                self._steps *= 2
            if now() >= until:
                break
        return self.least >= len(self.epochs)

    def _partition_on_stack(self) -> list[list[int]]:
        left, jobs = self._stack.left, [iter(kind.jobs) for kind in self.items.kinds]
        epochs = []
        for d in range(int(self._stack.at[DEPTH])):
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
        frame=np.zeros((most + 1, COLUMNS), dtype=np.int64),
        table=np.empty((most + 1, wide + 1, items.nodes + 1), dtype=np.int32),
    )
    stack.left[0] = [kind.count for kind in items.kinds]
    return data, stack
