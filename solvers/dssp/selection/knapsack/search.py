"""An exact solver of the 0-1 knapsack that can be stopped and asked at any time."""

from math import floor, fsum, inf
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedopt.instances.decimals import LARGEST, Whole
from schedopt.solvers.clock import now
from schedopt.solvers.dssp.selection.knapsack.break_item import MANY, items_near_break
from schedopt.solvers.dssp.selection.knapsack.counting_bound import counting_bound
from schedopt.solvers.dssp.selection.knapsack.dp_states import CoreMemoryError, DpStates
from schedopt.solvers.dssp.selection.knapsack.items import (
    Floats,
    Items,
    Mask,
    common_step,
    divisor,
    summarize,
    undominated,
    valid,
)
from schedopt.solvers.dssp.selection.knapsack.subset_sum import fill_from_start
from schedopt.solvers.dssp.selection.knapsack.two_list_dp import TwoListSearch

__all__ = ["Core", "CoreMemoryError"]

_CHUNK: Final = 1 << 21  # states between two looks at the clock and the keyboard: some 30 ms
_FIRST_CHUNK: Final = 1 << 15  # what the bound by the number of items is not worth its time for
_WINDOW: Final = 2048  # items on either side of the break item that the first incumbent looks at
_NEAR: Final = 256  # the same, where not all items are sorted
_WINDOW_CHUNK: Final = 1 << 12  # what a better incumbent is not worth its time for
_WINDOW_STEPS: Final = 4  # so many of these are spent on a window where not all items are sorted
_COMPARED: Final = 3000  # items up to which all pairs are compared
_LONG: Final = 1 << 20  # states from which on so few items are searched from both ends


class Core(DpStates):
    """Maximise Σ R_j x_j subject to Σ w_j x_j <= room, x_j in {0, 1}.

    Items are sorted by ratio; the break item is the first that does not fit after all before it.
    A dynamic programme starts from the set before the break item and decides on items outwards
    from there, by turns right (put in) and left (take out). It keeps only sets that no other
    dominates and whose linear bound, by the next ratio on each side, beats the incumbent; an item
    that no set can use is passed over. Where no set remains, the incumbent is proven.

    If this takes long, the number of items is bounded from both sides (what the lightest items
    allow, and what the most rewarding ones ask for), and the relaxation with that bound, by one
    multiplier, bounds the value: for rewards like demand + constant it is mostly met at once.
    Where states become too many, the search begins anew from both ends (`TwoListSearch`).

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
    _two_list: TwoListSearch | None  # once the states are too many

    def __init__(
        self, rewards: ArrayLike, demands: ArrayLike, room: float, *, memory: int = 2 << 30
    ) -> None:
        (self._given, worth), self._scale, self._roomy = valid("rewards", rewards), 1.0, True
        if worth.total is None:
            # Rewards that are decimal fractions are as exact as whole ones, in a smaller unit.
            whole = Whole.of(self._given)
            self._roomy = whole.total < LARGEST and whole.scale <= 10**22
            if self._roomy:
                self._scale, self._given = float(whole.scale), whole.numbers.astype(np.float64)
                worth = summarize(self._given)
        needs, asked = valid("demands", demands)
        if self._given.shape != needs.shape:
            raise ValueError("rewards and demands must be of one length")
        if not 0 <= room < float("inf"):
            raise ValueError(f"room must be finite and not negative, not {room!r}")
        self._memory = memory
        self._items = Items.of(self._given, needs, float(room), (worth, asked))
        self._most = float(self._given.sum() if worth.total is None else worth.total)
        free = self._given[self._items.free]
        self._offered = float(free.sum()) if self._roomy else fsum(free)
        self._exact = self._roomy and self._items.exact
        self._tightened, self._least = False, inf
        self._chosen: tuple[float, Mask, float] | None = None
        self._sort(needs)

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
        return self._best_selection()[1] / self._scale

    @property
    def bound(self) -> float:
        """What no selection can exceed; the value, once it is proven. It never rises."""
        if self._proven:
            return self.value
        at = self._at
        bound = max(float(at["bound"][0]), float(at["value"][0]))  # no state left has no bound
        bound = (floor(bound + self._slip) if self._whole else bound) + self._free
        return max(self.value, bound / self._scale)

    def chosen(self) -> Mask:
        """Return the best selection so far, shape (J,)."""
        return self._best_selection()[0].copy()

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
            If more states are open than the memory holds, and numbers are not `exact`; value,
            bound and selection stay valid.
        """
        from schedopt.solvers.dssp.selection.knapsack import kernels

        end = now() + seconds
        while not self._proven:
            if self._two_list is not None:
                self._advance_two_lists(self._two_list)
            elif (code := self._search(self._states_per_step())) == kernels.PROVEN:
                self._proven = True
            elif code == kernels.PAUSED and self._windowed:
                self._search_all_items()
            elif code == kernels.PAUSED and not self._tightened:
                self._tighten()
            elif self._cursor["length"][0] > _LONG and self._rewards.size <= _COMPARED:
                self._begin_two_lists()
            if now() >= end:
                break
        return self._proven

    def _sort(self, needs: Floats) -> None:
        """Sort by ratio what is not decided, and set up the search of that."""
        items = self._items
        rewards, weights, room = items.rewards, items.weights, items.room
        ratios = items.ratios
        if weights is not needs:
            with np.errstate(under="ignore"):
                ratios = rewards / weights
        if rewards.size:  # what no set of weights can sum to is no room
            room -= room % divisor(weights)
        self._whole = self._roomy or bool(np.array_equal(rewards, np.floor(rewards)))
        step = divisor if self._roomy else common_step
        self._step = step(rewards) if self._whole else 0.0
        if self._exact and rewards.size > MANY:
            self._fix_items(ratios, room)
        else:
            self._start(np.argsort(-ratios, kind="stable"), ratios, room)

    def _fix_items(self, ratios: Floats, room: float) -> None:
        """Look for a good solution around the break, and then at the items that may better it.

        With an item put in or taken out, Dantzig's bound falls by the item's reduced reward: where
        it falls to what is known, the item is decided.
        """
        from schedopt.solvers.dssp.selection.knapsack import kernels

        rewards, weights = self._items.rewards, self._items.weights
        near, inside, broken, used, base = items_near_break(ratios, weights, room, rewards)
        first = max(0, broken - _NEAR)
        before = near[:first]
        inside[before] = True
        near, broken = near[first : broken + _NEAR], broken - first
        price = float(ratios[near[min(broken, near.size - 1)]])
        base += float(rewards[before].sum())
        self._start(
            near, ratios, room - used + float(weights[near[:broken]].sum()), inside, base=base
        )
        if self._search_briefly():
            return
        out, places = np.empty_like(inside), np.empty(rewards.size, dtype=np.intp)
        slack, items = self._slack(), (weights, rewards)
        count, weight, base = kernels.split_by_key(
            rewards, price, items, -slack, slack, out, places
        )
        if count > 2 * _WINDOW:  # far from the break things may fit better
            far = np.zeros(rewards.size, dtype=np.bool_)
            far[near] = far[:: max(1, rewards.size // (2 * _WINDOW))] = True
            wide = np.flatnonzero(far)
            wide = wide[np.argsort(-ratios[wide], kind="stable")]
            found, kept = self._incumbent_by_item(), inside & ~far
            left = room - float((weights * kept).sum())
            self._start(wide, ratios, left, kept, first=found)
            self._search_all_items()
            known = self._base + float(self._cursor["value"][0])
            self._least = counting_bound(rewards, weights, room, known, known + self._step)
            if self._least < known + self._step or self._search_briefly():
                self._cursor["bound"] = self._cursor["value"]
                return
            slack = self._slack()
            count, weight, base = kernels.split_by_key(
                rewards, price, items, -slack, slack, out, places
            )
        order, found = places[:count], self._incumbent_by_item()
        order = order[np.argsort(-ratios[order], kind="stable")]
        self._start(order, ratios, room - weight, out, base=base, first=found)

    def _slack(self) -> float:
        """Return what Dantzig's bound is above the best so far, and what rounding can do to it."""
        at = self._at
        return float(at["root"][0] - at["value"][0]) + 2.0**-46 * self._most

    def _search_briefly(self) -> bool:
        """Search for a short while; tell whether nothing anywhere can be better than the best."""
        at, enough = self._at, self._least - self._base
        enough = min(enough, float(at["root"][0])) + self._slip - self._step
        for _ in range(_WINDOW_STEPS):
            if self._proven or at["value"][0] > enough or self._search(_WINDOW_CHUNK) == 0:
                break
        done = self._proven or bool(at["value"][0] > enough)
        if done:
            at["bound"] = at["value"]
        return done

    def _start(
        self,
        order: NDArray[np.intp],
        ratios: Floats,
        room: float,
        inside: Mask | None = None,
        *,
        base: float | None = None,
        first: Mask | None = None,
    ) -> None:
        """Set up the search of some items, the first incumbent and the state to start from.

        `order`: the items by falling ratio; `room`: what is left by those `inside`, which are put
        in anyway, and whose rewards sum to `base`; `first`: a selection of all items that is known
        to be good.
        """
        from schedopt.solvers.dssp.selection.knapsack import kernels

        self._order, self._room, self._inside, self._two_list = order, room, inside, None
        self._chosen = None  # of the base that was
        if base is None:
            base = 0.0 if inside is None else float((self._items.rewards * inside).sum())
        self._base, count, window = base, order.size, 0 if first is not None else _WINDOW
        taken = _, rewards, _ = np.empty(count), np.empty(count), np.empty(count + 1)
        self._weights, self._rewards, self._ratios = taken
        given = self._items.weights, self._items.rewards, ratios
        broken, used, price, found = kernels.begin(given, order, room, window, taken)
        reward = float(rewards[:broken].sum())
        self._free = self._offered + base
        self._proven, self._broken = broken == count, broken
        self._windowed = max(broken, count - broken) > _WINDOW
        self._known = first
        if first is None:
            self._first = fill_from_start(taken, room, broken, found)
            value = float(rewards[self._first].sum())
        else:  # what is decided may be decided otherwise in it
            value = float((self._items.rewards * first).sum()) - base
        root = reward + (room - used) * price
        self._slip = 2.0**-48 * (root + base)  # what rounding can do to a bound
        at = np.zeros(1, dtype=kernels.CURSOR)
        at["broken"] = at["right"] = broken
        at["left"], at["removable"] = broken - 1, used
        at["length"], at["best"] = 1, kernels.START
        at["value"] = value
        at["root"] = root
        at["bound"] = max(value, min(root, self._least - base))
        # Whole rewards beat the incumbent by their common divisor at least; others by more than
        # rounding.
        at["gain"] = self._step - self._slip if self._whole else self._slip
        self._at, self._cursor = at, at.view(np.recarray)
        self._begin(room - used, reward, kernels.BREAK)

    def _search(self, budget: int) -> int:
        """Search for about so many states; what is full grows."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        items = self._weights, self._rewards, self._ratios
        code: int = kernels.search(self._cursor[0], items, self._states, self._tree, budget)
        try:
            if code == kernels.STATES_FULL:
                self._grow_states()
            elif code == kernels.NODES_FULL:
                self._grow_tree()
        except CoreMemoryError:
            if not self._begin_two_lists():
                raise
        return code

    def _states_per_step(self) -> int:
        """Return how many states to look at before anything else is tried."""
        if self._windowed:
            return _WINDOW_CHUNK
        return _CHUNK if self._tightened else _FIRST_CHUNK + 4 * self._rewards.size

    def _search_all_items(self) -> None:
        """Look for a better selection among all items: the search does not end at once."""
        self._windowed = False
        first = self._incumbent(self._rewards.size)
        value = float(self._rewards[first].sum())
        if value > self._cursor["value"][0]:
            self._set_incumbent(first, value)

    def _set_incumbent(self, first: Mask, value: float) -> None:
        """Take a selection of the items by ratio, and its value, as the best so far."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        self._first, self._known = first, None
        self._cursor["value"], self._cursor["best"] = value, kernels.START

    def _incumbent(self, window: int) -> Mask:
        """Return the selection to start from, over the items by ratio."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        items, broken = (self._weights, self._rewards, self._ratios), self._broken
        first = kernels.first_incumbent(items[0], items[1], self._room, broken, window)
        return fill_from_start(items, self._room, broken, first)

    def _incumbent_by_item(self) -> Mask:
        """Return the best selection so far, over the items as they stand."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        if self._at["best"][0] != kernels.START:
            by_ratio = kernels.solution(self._cursor[0], self._rewards.size, self._tree)
        elif self._known is not None:
            return self._known
        else:
            by_ratio = self._first
        rest = self._inside
        chosen = np.empty(self._items.rewards.size, bool) if rest is None else rest.copy()
        chosen[self._order] = by_ratio
        return chosen

    def _best_selection(self) -> tuple[Mask, float]:
        """Return the best selection so far and its reward."""
        value = float(self._at["value"][0])
        if self._chosen is None or self._chosen[0] != value:
            jobs = self._items.jobs(self._incumbent_by_item())
            total = value + self._free if self._roomy else fsum(self._given[jobs])
            self._chosen = (value, jobs, total)
        return self._chosen[1], self._chosen[2]

    def _tighten(self) -> None:
        """Bound the value by the number of items that a better solution can have.

        Then decide what others dominate, and begin anew with what is left.
        """
        at = self._cursor
        value = float(at["value"][0])
        bound = counting_bound(
            self._rewards, self._weights, self._room, value, value + float(at["gain"][0])
        )
        at["bound"] = max(value, min(float(at["bound"][0]), bound))
        self._tightened = True
        few = self._rewards.size <= _COMPARED
        if self._exact and few and at["bound"][0] >= value + at["gain"][0]:
            self._drop_dominated()

    def _begin_two_lists(self) -> bool:
        """Begin anew from both ends of what is undecided; False where numbers are rounded."""
        if not self._exact:
            return False
        self._drop_dominated()
        at, broken = self._cursor, self._broken
        if not self._proven:
            self._two_list = TwoListSearch(
                (self._weights, self._rewards),
                self._room,
                float(at["value"][0]),
                step=self._step,
                price=float(self._ratios[broken]),
                memory=self._memory,
            )
        return True

    def _advance_two_lists(self, search: TwoListSearch) -> None:
        """Take one step of the search from both ends, and take over what it finds."""
        at = self._cursor
        search.advance()
        if search.value > at["value"][0] and search.chosen is not None:
            self._set_incumbent(search.chosen, search.value)
        at["bound"] = max(float(at["value"][0]), min(float(at["bound"][0]), search.bound))
        self._proven = search.proven

    def _drop_dominated(self) -> None:
        """Begin anew without the items that others dominate."""
        at, count = self._cursor, self._rewards.size
        weights, rewards, chosen = self._weights, self._rewards, self._incumbent_by_item()
        inside = np.arange(count) < self._broken
        losses = np.abs(rewards - self._ratios[self._broken] * weights)
        slack = self._slack()
        room, bound = self._room, float(at["bound"][0]) + self._base
        open_ = losses <= slack
        if count <= _COMPARED:
            open_ &= undominated((weights, rewards, inside), losses, slack, room)
        for_good = inside & ~open_
        kept = np.zeros(self._items.rewards.size, bool) if self._inside is None else self._inside
        kept[self._order[for_good]] = True
        self._least = min(self._least, bound)
        ratios = np.empty(kept.size)
        ratios[self._order] = self._ratios[:-1]
        order = self._order[open_]
        self._start(order, ratios, room - float(weights[for_good].sum()), kept, first=chosen)
