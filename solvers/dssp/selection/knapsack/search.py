"""An exact solver of the 0-1 knapsack that can be stopped and asked at any time."""

from math import floor, fsum
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedopt.instances.decimals import Whole
from schedopt.instances.sorting import steady_order
from schedopt.solvers.clock import now
from schedopt.solvers.dssp.selection.knapsack.counting import bound_by_count
from schedopt.solvers.dssp.selection.knapsack.filling import fill
from schedopt.solvers.dssp.selection.knapsack.items import LARGEST, Floats, Items, Mask

_CHUNK: Final = 1 << 21  # states between two looks at the clock and the keyboard: some 30 ms
_FIRST_CHUNK: Final = 1 << 15  # what the bound by the number of items is not worth its time for
_WINDOW: Final = 2048  # items on either side of the break item that the first incumbent looks at
_WINDOW_CHUNK: Final = 1 << 12  # what a better incumbent is not worth its time for
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
        roomy = whole.total < LARGEST and whole.scale <= 10**22
        self._scale = float(whole.scale) if roomy else 1.0
        self._roomy = roomy
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
        self._order = steady_order(-ratios)
        self._ratios = np.append(ratios[self._order], 0.0)
        self._weights = self._items.weights[self._order]
        self._rewards = self._items.rewards[self._order]
        self._tightened, self._windowed = False, False
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
        from schedopt.solvers.dssp.selection.knapsack import kernels

        end = now() + seconds
        while not self._proven:
            code = kernels.search(
                self._cursor[0],
                (self._weights, self._rewards, self._ratios),
                self._states,
                self._tree,
                self._chunk(),
            )
            if code == kernels.PROVEN:
                self._proven = True
            elif code == kernels.STATES_FULL:
                self._grow_states()
            elif code == kernels.NODES_FULL:
                self._grow_tree()
            elif self._windowed:
                self._look_further()
            elif not self._tightened:
                self._tighten()
            if now() >= end:
                break
        return self._proven

    def _start(self) -> None:
        """Set up the break solution, the first incumbent and the state to start from."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        weights, rewards, room = self._weights, self._rewards, self._items.room
        if rewards.size:  # what no set of weights can sum to is no room
            room -= room % float(np.gcd.reduce(weights.astype(np.int64)))
        filled = np.cumsum(weights)
        broken = int(np.searchsorted(filled, room, side="right"))
        used = float(filled[broken - 1]) if broken else 0.0
        reward = float(rewards[:broken].sum())
        self._free = self._total(self._items.free)
        self._proven = broken == rewards.size
        self._windowed = max(broken, rewards.size - broken) > _WINDOW
        self._room, self._broken = room, broken
        self._first = self._incumbent(_WINDOW)
        self._whole = bool(np.array_equal(rewards, np.floor(rewards)))
        root = reward + (room - used) * float(self._ratios[broken])
        self._slip = 2.0**-48 * root  # what rounding can do to a bound
        at = np.zeros(1, dtype=kernels.CURSOR).view(np.recarray)
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

    def _chunk(self) -> int:
        """Return how many states to look at before anything else is tried."""
        if self._windowed:
            return _WINDOW_CHUNK
        return _CHUNK if self._tightened else _FIRST_CHUNK + 4 * self._rewards.size

    def _look_further(self) -> None:
        """Look for a better selection among all items: the search does not end at once."""
        self._windowed = False
        first = self._incumbent(self._rewards.size)
        value = self._rewards[first].sum()
        if value > self._cursor["value"][0]:
            from schedopt.solvers.dssp.selection.knapsack import kernels

            self._first = first
            self._cursor["value"], self._cursor["best"] = value, kernels.START

    def _incumbent(self, window: int) -> Mask:
        """Return the selection to start from, over the items by ratio."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        room, broken = self._room, self._broken
        first: Mask = kernels.first_incumbent(self._weights, self._rewards, room, broken, window)
        if broken == self._rewards.size or self._ratios[0] != self._ratios[-2]:
            return first
        if self._weights[first].sum() < room:  # in proportion to demands nothing beats a full room
            filled = fill(self._weights, room, broken)
            if self._rewards[filled].sum() > self._rewards[first].sum():
                return filled
        return first

    def _best(self) -> tuple[Mask, float]:
        """Return the best selection so far and its reward."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        value = float(self._cursor["value"][0])
        if self._chosen is None or self._chosen[0] != value:
            by_ratio = self._first
            if self._cursor["best"][0] != kernels.START:
                by_ratio = kernels.solution(self._cursor[0], by_ratio.size, self._tree)
            chosen = np.empty_like(by_ratio)
            chosen[self._order] = by_ratio
            jobs = self._items.jobs(chosen)
            self._chosen = (value, jobs, self._total(jobs))
        return self._chosen[1], self._chosen[2]

    def _total(self, jobs: Mask) -> float:
        """Return the reward of some jobs; integers below 2^52 in all are summed exactly."""
        given = self._given[jobs]
        return float(given.sum()) if self._roomy else fsum(given)

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
        """Drop unneeded nodes; if most are needed, double the room."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        kernels.sweep(self._cursor[0], self._states[2], self._tree)
        size = self._tree[0].size
        if self._cursor["nodes"][0] > size // 2:
            self._ask_for(self._states[0].shape[1] * _STATE_BYTES + 3 * size * _NODE_BYTES)
            self._tree = (_longer(self._tree[0], 2 * size), _longer(self._tree[1], 2 * size))

    def _ask_for(self, size: int) -> None:
        """Refuse to grow beyond the memory limit, or beyond what 32-bit node numbers can count."""
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


def _valid(name: str, numbers: ArrayLike) -> Floats:
    array = np.array(numbers, dtype=np.float64)
    least, most = array.min(initial=0.0), array.max(initial=0.0)  # NaN where there is one
    if array.ndim != 1 or not (least >= 0 and most < np.inf):
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
