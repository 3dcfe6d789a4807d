"""An exact engine for the 0-1 knapsack, which has a solution and a bound at any time."""

from __future__ import annotations

from fractions import Fraction
from math import floor, fsum, inf
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedopt.instances.decimals import LARGEST, Whole
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import ProgramOutcome, conclude, remaining_limits
from schedopt.solvers.dssp.selection.knapsack import bounds
from schedopt.solvers.dssp.selection.knapsack.bounds import KnapsackParams
from schedopt.solvers.dssp.selection.knapsack.items import (
    Items,
    Mask,
    divisor,
    in_doubles,
    summarize,
    valid,
)
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, drive, version

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected

_STATE_BYTES: Final = 2 * (8 + 8 + 4)  # room, reward and node, in two lists
_NODE_BYTES: Final = 4 + 4 + 4  # parent and item, and a place while sweeping


class CoreMemoryError(MemoryError):
    """The states of a `Core` do not fit into the memory that it may use."""


class Core:
    """Maximize Σ R_j x_j subject to Σ w_j x_j <= room, x_j in {0, 1}.

    Items are sorted by ratio. The break item is the first that does not fit after all items before
    it. A dynamic program starts from the items before the break item and decides on items outwards
    from there, alternately to the right (added) and to the left (removed). It keeps the sets that
    no other set dominates and whose linear bound, by the next ratio on each side, is above the
    incumbent. If no set remains, the incumbent is optimal.

    After `KnapsackParams.first_states` states, the number of items of a better solution is bounded
    from both sides, and the relaxation with these bounds gives a second upper bound. It is tight
    for strongly correlated rewards.

    Parameters
    ----------
    rewards, demands : array of float, shape (J,)
        R_j and w_j, finite and not negative.
    room : float
        Capacity, finite and not negative.
    memory : int
        Bytes that the states may take.
    params : KnapsackParams

    Raises
    ------
    ValueError
        If an argument has another shape or a value out of range.

    Notes
    -----
    Decimals are exact if, in their common unit, the rewards sum to less than 2^52 and the room is
    less than 2^53. Larger rewards are float64, and the value is optimal up to a relative error of
    1e-14. Larger demands are rounded up: a set that leaves less than 2^-52 of the room for each of
    its items may count as too large (see `Items`).

    Source: Pisinger, A minimal algorithm for the 0-1 knapsack problem, Operations Research 45,
    1997, with the bound of Dantzig, Operations Research 5, 1957; the bound by the number of items
    after Martello and Toth, Upper bounds and algorithms for hard 0-1 knapsack problems, Operations
    Research 45, 1997.
    """

    _proven: bool

    def __init__(
        self,
        rewards: ArrayLike,
        demands: ArrayLike,
        room: float,
        *,
        memory: int = 2 << 30,
        params: KnapsackParams = bounds.DEFAULTS,
    ) -> None:
        self.params = params
        (self._given, worth), self._scale, self._roomy = valid("rewards", rewards), 1.0, True
        if worth.total is None:
            # Decimal fractions are integers in a smaller unit.
            whole = Whole.of(self._given)
            self._roomy = whole.total < LARGEST and whole.scale <= 10**22
            if self._roomy:
                self._scale, self._given = float(whole.scale), whole.numbers.astype(np.float64)
                worth = summarize(self._given)
        needs, asked = valid("demands", demands)
        if self._given.shape != needs.shape:
            raise ValueError("rewards and demands must be of one length")
        if not 0 <= room < inf:
            raise ValueError(f"room must be finite and not negative, not {room!r}")
        self._memory = memory
        self._items = items = Items.of(self._given, needs, float(room), (worth, asked))
        self._offered = fsum(self._given[items.free])
        self._tightened = False
        self._best: tuple[float, Mask, float] | None = None  # value, jobs, reward
        self._by_item = items.ratios
        if items.weights is not needs:
            with np.errstate(under="ignore"):
                self._by_item = items.rewards / items.weights
        self._whole = self._roomy or bool(np.array_equal(items.rewards, np.floor(items.rewards)))
        self._step = divisor(items.rewards) if self._whole else 0.0
        # Sums of weights are multiples of their common divisor.
        room = items.room - items.room % divisor(items.weights) if items.weights.size else 0.0
        self._start(room)

    @property
    def proven(self) -> bool:
        """Whether the value is the optimum."""
        return self._proven

    @property
    def exact(self) -> bool:
        """Whether no number was rounded, so that the bound is exact."""
        return self._roomy and self._items.exact

    @property
    def value(self) -> float:
        """The reward of the best selection so far."""
        return self._best_selection()[1] / self._scale

    @property
    def bound(self) -> float:
        """The upper bound on the reward of all selections. It never increases."""
        if self._proven:
            return self.value
        bound = max(float(self._at.bound), float(self._at.value))  # -inf if no state is left
        bound = floor(bound + self._slip) if self._whole else bound
        return max(self.value, (bound + self._offered) / self._scale)

    def chosen(self) -> Mask:
        """Return the best selection so far, shape (J,)."""
        return self._best_selection()[0].copy()

    def advance(self, seconds: float) -> bool:
        """Continue the search for some seconds, or until the value is proven.

        Each call continues where the last one stopped, also after a `KeyboardInterrupt`. It stops
        about 30 ms late, and up to a second late if it has just copied gigabytes of states.

        Parameters
        ----------
        seconds : float
            Wall-clock time. If it is not positive, one small step is taken.

        Returns
        -------
        bool
            Whether the value is proven to be the optimum.

        Raises
        ------
        CoreMemoryError
            If the states exceed the memory. Value, bound and selection stay valid.
        """
        from schedopt.solvers.dssp.selection.knapsack import kernels

        end = now() + seconds
        while not self._proven:
            params, size = self.params, self._rewards.size
            steps = params.chunk_states if self._tightened else params.first_states + 4 * size
            code = self._search(steps)
            if code == kernels.PROVEN:
                self._proven = True
            elif code == kernels.PAUSED and not self._tightened:
                self._tighten()
            if now() >= end:
                break
        return self._proven

    def _start(self, room: float) -> None:
        """Prepare the search, with its first incumbent and its first state."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        order = np.argsort(-self._by_item, kind="stable")
        self._order, self._room = order, room
        self._weights, self._rewards = self._items.weights[order], self._items.rewards[order]
        self._ratios = np.append(self._by_item[order], 0.0)
        filled = np.cumsum(self._weights)
        broken = int(np.searchsorted(filled, room, side="right"))
        self._proven = broken == len(order)
        used, reward = float(filled[broken - 1]) if broken else 0.0, self._rewards[:broken].sum()
        items = self._weights, self._rewards, self._ratios
        first = kernels.first_incumbent(self._weights, self._rewards, room, broken)
        self._first = bounds.fill_from_start(items, room, broken, first, self.params)
        value = float(self._rewards[self._first].sum())
        root = float(reward + (room - used) * self._ratios[broken])
        self._slip = 2.0**-48 * root  # rounding error of a bound
        self._at: Any = np.zeros(1, dtype=kernels.CURSOR).view(np.recarray)[0]
        at = self._at
        at.broken = at.right = broken
        at.left, at.removable = broken - 1, used
        at.length, at.best = 1, kernels.START
        at.value, at.root = value, root
        at.bound = max(value, root)
        # A better solution gains at least the common divisor of integer rewards.
        at.gain = self._step - self._slip if self._whole else self._slip
        shape, nodes = (2, kernels.FIRST_STATES), 1 << 14
        self._states = np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.int32)
        self._tree = np.empty(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
        rooms, worths, places = self._states
        rooms[0, 0], worths[0, 0], places[0, 0] = room - used, reward, kernels.BREAK

    def _search(self, budget: int) -> int:
        """Process about ``budget`` states; arrays that are full grow."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        items = self._weights, self._rewards, self._ratios
        code: int = kernels.search(self._at, items, self._states, self._tree, budget)
        if code == kernels.STATES_FULL:
            self._grow(2, 1)
        elif code == kernels.NODES_FULL:
            kernels.sweep(self._at, self._states[2], self._tree)
            if self._at.nodes > self._tree[0].size // 2:
                self._grow(1, 2)
        return code

    def _grow(self, lists: int, tree: int) -> None:
        """Multiply the capacities of the lists of states and of the tree by these factors."""
        states, nodes = lists * self._states[0].shape[1], tree * self._tree[0].size
        size = states * _STATE_BYTES + nodes * _NODE_BYTES
        # The old arrays exist beside the new ones while they are copied.
        size += (states // 2) * _STATE_BYTES if lists > 1 else (nodes // 2) * _NODE_BYTES
        if size > self._memory or nodes > 1 << 30:  # 32-bit numbers of nodes
            raise CoreMemoryError(
                f"the search has {int(self._at.length)} states open and would need "
                f"{size / 2**30:.3g} GiB: more than the {self._memory / 2**30:.3g} GiB it may use"
            )
        if lists > 1:
            room, reward, node = self._states
            self._states = _longer(room, states), _longer(reward, states), _longer(node, states)
        if tree > 1:
            self._tree = _longer(self._tree[0], nodes), _longer(self._tree[1], nodes)

    def _incumbent_by_item(self) -> Mask:
        """Return the incumbent as a mask over the items in their order in `Items`."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        if self._at.best != kernels.START:
            by_ratio = kernels.solution(self._at, self._rewards.size, self._tree)
        else:
            by_ratio = self._first
        chosen = np.empty(len(by_ratio), dtype=np.bool_)
        chosen[self._order] = by_ratio
        return chosen

    def _best_selection(self) -> tuple[Mask, float]:
        """Return the incumbent, a mask over jobs, and its reward."""
        value = float(self._at.value)
        if self._best is None or self._best[0] != value:
            jobs = self._items.jobs(self._incumbent_by_item())
            total = value + self._offered if self._roomy else fsum(self._given[jobs])
            self._best = (value, jobs, total)
        return self._best[1], self._best[2]

    def _tighten(self) -> None:
        """Lower the bound by the number of items that a better solution can have."""
        at, items = self._at, (self._rewards, self._weights)
        value = float(at.value)
        target = value + float(at.gain)
        bound = bounds.counting_bound(*items, self._room, value, target)
        at.bound = max(value, min(float(at.bound), bound))
        self._tightened = True


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a copy whose last axis has ``size`` entries; new entries are not initialized."""
    copy = np.empty((*array.shape[:-1], size), dtype=array.dtype)
    copy[..., : array.shape[-1]] = array
    return copy


def solve(model: Selection, task: EngineTask) -> Result[Selected] | Partial:
    """Solve a selection without side constraints, a 0-1 knapsack.

    An interruption (Ctrl-C) ends the run and keeps the incumbent. If the memory does not suffice,
    the next engine continues from the incumbent and the bound.
    """
    run = Run(task.limits)
    decided = _decide(model, run)
    result = conclude(model, run, decided, solver=task.name, version=version())
    handed_on = decided.stopped == "error" and not task.alone
    return Partial(result, decided.bound) if handed_on else result


def _decide(model: Selection, run: Run) -> ProgramOutcome:
    """Solve the knapsack; if demands were rounded, prove the solution in integers."""
    knapsack = model.plain()
    assert knapsack is not None  # noqa: S101 - the engine accepts no other selection
    rewards, demands, room, positions = knapsack
    weights, limit, exact = in_doubles(demands, room, generous=True)
    search = Core(rewards, weights, limit)
    stopped, message = drive(search, run, noise=0.0)
    proven, chosen = search.bound == search.value, search.chosen()
    fits = exact or sum(demands.numbers[chosen].tolist()) <= room
    if search.exact and fits and (proven or exact):
        columns = np.zeros(model.width, dtype=np.int8)
        columns[positions[chosen]] = 1
        return ProgramOutcome(stopped, columns, Fraction(search.bound), proven, message)
    # Find a solution with demands rounded up, and prove the optimum without rounding.
    from schedopt.solvers.dssp.selection.priced_core import outcome_of, termination
    from schedopt.solvers.priced_core.search import PricedCoreSearch

    careful = Core(rewards, *in_doubles(demands, room)[:2])
    if stopped == "optimal":
        run.trace.clear()  # earlier incumbents may not fit
        drive(careful, Run(remaining_limits(run.limits, run.began)), noise=0.0)
    program = model.integer_program()
    # Rewards of more than 2^52 units were summed in floating point.
    bound = Fraction(search.bound) * (1 + Fraction(not search.exact, 10**12))
    limits = remaining_limits(run.limits, run.began)
    exactly = PricedCoreSearch(program, limits, bound=floor(bound * program.scale))
    for core in (search, careful):
        exactly.offer(program.point(positions[core.chosen()].tolist()), "")
    if stopped == "optimal":
        stopped = termination(exactly.run())
    return outcome_of(exactly, program.scale, stopped, message, engine="priced-core")
