"""An exact solver of the 0-1 knapsack that can be stopped and asked at any time."""

from __future__ import annotations

from math import floor, fsum, inf
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from instances.decimals import Whole
from solvers.clock import now
from solvers.knapsack.filling import fill
from solvers.knapsack.items import LARGEST, Floats, Items, Mask

_CHUNK: Final = 1 << 21  # states between two looks at the clock and the keyboard: some 30 ms
_FIRST_CHUNK: Final = 1 << 15  # what the bound by the number of items is not worth its time for
_STATE_BYTES: Final = 2 * (8 + 8 + 4)  # room, reward and node, in two lists
_NODE_BYTES: Final = 4 + 4 + 4  # parent and item, and a place while sweeping


class CoreMemoryError(MemoryError):
    """The states of a `Core` do not fit into the memory that it may use."""


class Core:
    """Maximise Σ R_j x_j subject to Σ w_j x_j <= room, x_j in {0, 1}.

    Items are sorted by ratio; the break item is the first that does not fit after all before it.
    A dynamic programme starts from the set before the break item and decides on items outwards
    from there, by turns right (put in) and left (take out). It keeps only sets that no other
    dominates and whose linear bound, by the next ratio on each side, beats the incumbent; an item
    that no set can use is passed over. Where no set remains, the incumbent is proven.

    If this takes long, the number of items is bounded from both sides (what the lightest items
    allow, and what the most rewarding ones ask for), and the relaxation with that bound, by one
    multiplier, bounds the value: for rewards like demand + constant it is mostly met at once.

    Parameters
    ----------
    rewards : array of float, shape (J,)
        R_j, finite and not negative.
    demands : array of float, shape (J,)
        w_j, finite and not negative.
    room : float
        What the demands may sum to, finite and not negative.
    memory : int
        Bytes that the states may take.

    Raises
    ------
    ValueError
        If an argument is not as said.

    Notes
    -----
    Decimals are treated exactly while the rewards sum to less than 2^52, and the room is less than
    2^53, in their unit. Rewards beyond that are float64, and the value is optimal to about 1e-14 of
    it; demands beyond that are rounded up, and sets that fill the room to within 2^-52 of it for
    each member may count as too large (see `Items`).

    Source: Pisinger, A minimal algorithm for the 0-1 knapsack problem, Operations Research 45,
    1997, with the bound of Dantzig, Operations Research 5, 1957; the bound by the number of items
    after Martello and Toth, Upper bounds and algorithms for hard 0-1 knapsack problems, Operations
    Research 45, 1997.
    """

    _proven: bool
    _cursor: NDArray[Any]
    _states: tuple[Floats, Floats, NDArray[np.int32]]
    _tree: tuple[NDArray[np.int32], NDArray[np.int32]]

    def __init__(
        self, rewards: ArrayLike, demands: ArrayLike, room: float, *, memory: int = 2 << 30
    ) -> None:
        given = _valid("rewards", rewards)
        # Rewards that are decimal fractions are as exact as whole ones, in a smaller unit.
        whole = Whole.of(given)
        roomy = sum(whole.numbers.tolist()) < LARGEST and whole.scale <= 10**22
        self._scale = float(whole.scale) if roomy else 1.0
        self._given = whole.numbers.astype(np.float64) if roomy else given
        needs = _valid("demands", demands)
        if self._given.shape != needs.shape:
            raise ValueError("rewards and demands must be of one length")
        if not 0 <= room < float("inf"):
            raise ValueError(f"room must be finite and not negative, not {room!r}")
        self._memory = memory
        self._items = Items.of(self._given, needs, float(room))
        self._exact = roomy and self._items.exact
        with np.errstate(under="ignore"):
            ratios = self._items.rewards / self._items.weights
        self._order = np.argsort(-ratios, kind="stable")
        self._ratios = np.append(ratios[self._order], 0.0)
        self._weights = self._items.weights[self._order]
        self._rewards = self._items.rewards[self._order]
        self._tightened = False
        self._chosen: tuple[float, Mask, float] | None = None
        self._start()

    @property
    def proven(self) -> bool:
        """Whether the value is the optimum."""
        return self._proven

    @property
    def exact(self) -> bool:
        """Whether the numbers are held as they are: then what is proven has no rounding in it."""
        return self._exact

    @property
    def value(self) -> float:
        """The reward of the best selection so far."""
        return self._best()[1] / self._scale

    @property
    def bound(self) -> float:
        """What no selection can exceed; the value, once it is proven. It never rises."""
        if self._proven:
            return self.value
        bound = float(self._cursor["bound"][0])
        bound = (floor(bound + self._slip) if self._whole else bound) + self._free
        return max(self.value, bound / self._scale)

    def chosen(self) -> Mask:
        """Return the best selection so far, shape (J,)."""
        return self._best()[0].copy()

    def advance(self, seconds: float) -> bool:
        """Search on for about so many seconds, or until the value is proven.

        It may be called again and again, and goes on where it stopped: also where Ctrl-C or the
        memory limit stopped it. It stops some 30 ms late, and up to a second where gigabytes of
        states have just been moved.

        Parameters
        ----------
        seconds : float
            Wall-clock time. With 0 or less it takes one small step.

        Returns
        -------
        bool
            Whether the value is proven to be the optimum.

        Raises
        ------
        CoreMemoryError
            If more states are open than the memory holds; value, bound and selection stay valid.
        """
        from solvers.knapsack import kernels

        end = now() + seconds
        while not self._proven:
            code = kernels.search(
                self._cursor[0],
                (self._weights, self._rewards, self._ratios),
                self._states,
                self._tree,
                _CHUNK if self._tightened else _FIRST_CHUNK + 4 * self._rewards.size,
            )
            if code == kernels.PROVEN:
                self._proven = True
            elif code == kernels.STATES_FULL:
                self._grow_states()
            elif code == kernels.NODES_FULL:
                self._grow_tree()
            elif not self._tightened:
                self._tighten()
            if now() >= end:
                break
        return self._proven

    def _start(self) -> None:
        """Set up the break solution, the first incumbent and the state to start from."""
        from solvers.knapsack import kernels

        weights, rewards, room = self._weights, self._rewards, self._items.room
        if rewards.size:  # what no set of weights can sum to is no room
            room -= room % float(np.gcd.reduce(weights.astype(np.int64)))
        filled = np.cumsum(weights)
        broken = int(np.searchsorted(filled, room, side="right"))
        used = float(filled[broken - 1]) if broken else 0.0
        reward = float(rewards[:broken].sum())
        self._free = fsum(self._given[self._items.free])
        self._proven = broken == rewards.size
        self._first = self._incumbent(room, broken)
        self._whole = bool(np.array_equal(rewards, np.floor(rewards)))
        root = reward + (room - used) * float(self._ratios[broken])
        self._slip = 2.0**-48 * root  # what rounding can do to a bound
        at = np.zeros(1, dtype=kernels.CURSOR)
        at["broken"] = at["right"] = broken
        at["left"], at["removable"] = broken - 1, used
        at["length"], at["best"] = 1, kernels.START
        at["value"] = rewards[self._first].sum()
        at["bound"] = at["root"] = root
        # Whole rewards beat the incumbent by their common divisor at least; others by more than
        # rounding.
        at["gain"] = _step(rewards) - self._slip if self._whole else self._slip
        self._cursor = at
        self._states = (
            np.empty((2, 1 << 10)),
            np.empty((2, 1 << 10)),
            np.empty((2, 1 << 10), dtype=np.int32),
        )
        self._tree = (np.empty(1 << 12, dtype=np.int32), np.empty(1 << 12, dtype=np.int32))
        self._states[0][0, 0] = room - used
        self._states[1][0, 0] = reward
        self._states[2][0, 0] = kernels.BREAK

    def _incumbent(self, room: float, broken: int) -> Mask:
        """Return the selection to start from, over the items by ratio."""
        from solvers.knapsack import kernels

        first: Mask = kernels.first_incumbent(self._weights, self._rewards, room, broken)
        if broken < self._rewards.size and self._ratios[0] == self._ratios[-2]:
            filled = fill(self._weights, room, broken)
            if self._rewards[filled].sum() > self._rewards[first].sum():
                return filled
        return first

    def _best(self) -> tuple[Mask, float]:
        """Return the best selection so far and its reward."""
        from solvers.knapsack import kernels

        found = float(self._cursor["value"][0])
        if self._chosen is None or self._chosen[0] != found:
            by_ratio = self._first
            if self._cursor["best"][0] != kernels.START:
                by_ratio = kernels.solution(self._cursor[0], by_ratio.size, self._tree)
            chosen = np.empty_like(by_ratio)
            chosen[self._order] = by_ratio
            jobs = self._items.jobs(chosen)
            self._chosen = (found, jobs, fsum(self._given[jobs]))
        return self._chosen[1], self._chosen[2]

    def _grow_states(self) -> None:
        """Double the lists of states."""
        size = 2 * self._states[0].shape[1]
        # The old ones stand beside the new ones while they are copied.
        self._ask_for(3 * size // 2 * _STATE_BYTES + self._tree[0].size * _NODE_BYTES)
        self._states = (
            _longer(self._states[0], size),
            _longer(self._states[1], size),
            _longer(self._states[2], size),
        )

    def _grow_tree(self) -> None:
        """Drop the nodes that are not needed; if most are, double them."""
        from solvers.knapsack import kernels

        kernels.sweep(self._cursor[0], self._states[2], self._tree)
        size = self._tree[0].size
        if self._cursor["nodes"][0] > size // 2:
            self._ask_for(self._states[0].shape[1] * _STATE_BYTES + 3 * size * _NODE_BYTES)
            self._tree = (_longer(self._tree[0], 2 * size), _longer(self._tree[1], 2 * size))

    def _ask_for(self, size: int) -> None:
        """Refuse to grow to more bytes than may be used, or than 32-bit nodes can count."""
        if size > self._memory or self._tree[0].size >= 1 << 30:
            raise CoreMemoryError(
                f"the search has {int(self._cursor['length'][0])} states open and would need "
                f"{size / 2**30:.3g} GiB: more than the {self._memory / 2**30:.3g} GiB it may use"
            )

    def _tighten(self) -> None:
        """Bound the value by the number of items that a better solution can have."""
        at = self._cursor
        value = float(at["value"][0])
        bound = bound_by_count(
            self._rewards, self._weights, self._items.room, value, value + float(at["gain"][0])
        )
        at["bound"] = max(value, min(float(at["bound"][0]), bound))
        self._tightened = True


def bound_by_count(
    rewards: Floats, weights: Floats, room: float, value: float, enough: float = -inf
) -> float:
    """Bound what a solution better than `value` can be worth by how many items it can have.

    At most `most` of the lightest fit, and at least `fewest` of the most rewarding are asked for.
    For every multiplier m the relaxation with rewards R_j - m is a bound if m·`most` (m > 0) or
    m·`fewest` (m < 0) is added. That is convex in m: its minimum is found by bisection.

    Parameters
    ----------
    rewards, weights : ndarray of float, shape (n,)
        The items.
    room : float
        What the weights may sum to.
    value : float
        The reward of a known solution.
    enough : float
        A bound below this is not improved on.

    Returns
    -------
    float
        The bound, rounded up.
    """
    most = int(np.searchsorted(np.cumsum(np.sort(weights)), room, side="right"))
    fewest = 1 + int(np.searchsorted(np.cumsum(np.sort(rewards)[::-1]), value, side="right"))
    bound, count = _relaxation(rewards, weights, room, 0.0, 0)
    if fewest <= count <= most:
        return bound
    limit = most if count > most else fewest
    largest = float(rewards.max())
    low, high = (0.0, largest) if count > most else (-largest, 0.0)
    for _ in range(60):
        middle = (low + high) / 2
        relaxed, count = _relaxation(rewards, weights, room, middle, limit)
        bound = min(bound, relaxed)
        if bound < enough:
            break
        if count > limit:
            low = middle
        else:
            high = middle
    return bound


def _relaxation(
    rewards: Floats, weights: Floats, room: float, multiplier: float, limit: int
) -> tuple[float, float]:
    """Return the value of the relaxation, rounded up, and how many items, and parts, it takes."""
    left = rewards - multiplier
    worth = np.flatnonzero(left > 0)
    order = worth[np.argsort(-left[worth] / weights[worth])]
    filled = np.cumsum(weights[order])
    split = int(np.searchsorted(filled, room, side="right"))
    count, price = float(split), 0.0
    if split < order.size:
        first = order[split]
        price = float(left[first] / weights[first])
        count += float((room - (filled[split - 1] if split else 0.0)) / weights[first])
    # Whatever the price is, this is a bound; each term is off by 2^-52 of what it is made of.
    gains = rewards[order] - price * weights[order] - multiplier
    made = np.abs(rewards[order]) + price * weights[order] + abs(multiplier)
    terms = [price * room, multiplier * limit, *gains[gains > 0].tolist()]
    off = 2.0**-51 * (fsum(made.tolist()) + price * room + abs(multiplier) * limit)
    return fsum(terms) + off, count


def _valid(name: str, numbers: ArrayLike) -> Floats:
    array = np.array(numbers, dtype=np.float64)
    if array.ndim != 1 or not np.all(np.isfinite(array)) or np.any(array < 0):
        raise ValueError(f"{name} must be a row of finite numbers that are not negative")
    return array


def _step(rewards: Floats) -> float:
    """Return the least by which two sums of whole rewards can differ."""
    if rewards.max(initial=0.0) > 2.0**53:
        return 1.0
    return float(np.gcd.reduce(rewards.astype(np.int64)))


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a copy whose last axis has `size` entries; those beyond the old ones are unset."""
    copy = np.empty((*array.shape[:-1], size), dtype=array.dtype)
    copy[..., : array.shape[-1]] = array
    return copy
