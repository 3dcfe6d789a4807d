"""Annealing among the columns whose reduced costs in a linear relaxation are near 0."""

from collections.abc import Callable
from typing import Final

import numpy as np

from schedopt.solvers.clock import now
from schedopt.solvers.dssp.selection.binary.arrays import FREE, Arrays, Values
from schedopt.solvers.dssp.selection.binary.multipliers import ceiling, reduced, rounded
from schedopt.solvers.dssp.selection.binary.relaxation import Floats, Relaxed
from schedopt.solvers.dssp.selection.crossing.kernels import DRAWS, Held, Walk, anneal

CHUNK: Final = 5_000
"""Moves between two looks at the clock."""
LEAST_MOVES, MOST_MOVES, PAIRS = 200_000, 12_000_000, 3
"""Fewest and most moves; between them `PAIRS` times the columns squared."""
ROUNDS: Final = (0.02, 0.08, *(0.15,) * 6)
"""Share of the moves in each round; a round begins from the rounded relaxation."""
HOT, COLD = 0.03, 0.007
"""Temperatures at the start and end of a round, in mean rewards."""
FEWER = 2000
"""Rounds begin hotter where there are fewer columns: rows have few moves there."""
CHARGE: Final = 0.05
"""Fixed cost of a violated row, beside the cost of its violation, in mean rewards."""
KEPT: Final = 0.07
"""Share of the moves that should end feasible; weights are adjusted towards it."""
SWIFT = 2.0
"""How fast weights are adjusted."""
CORE, FOR_EACH = 96, 8
"""Least number of columns that move, and how many for each priced row."""
FEW: Final = 12
"""Most entries of a row of few jobs, whose price says little of a column's value."""
LARGEST: Final = 1 << 53
"""Sums of rewards must stay below this, so that doubles are exact."""


class Annealed:
    """A search near a relaxation; what is better is looked at without rounding by who asks.

    Columns that are not free keep their values. `best` is the best selection found that keeps all
    rows, `worth` what it is worth, `ends` the worth and the best selection of each round, `most`
    what any is worth at most, by the prices of `reason`; `in_rewards` turns a worth into rewards.
    Rounds are shortened to end at the time `until`.
    """

    def __init__(
        self,
        arrays: Arrays,
        start: Values,
        relaxed: Relaxed,
        in_rewards: Callable[[int], float],
        *,
        seed: int = 0,
        until: float | None = None,
    ) -> None:
        self.in_rewards, self._until, self._began, self._made = in_rewards, until, now(), 0
        self.reason = rounded(arrays, relaxed.multipliers)
        bound = ceiling(start, *reduced(arrays, self.reason)) // self.reason.weight
        self.most = bound // arrays.step * arrays.step
        self.best: Values | None = None
        self.ends: list[tuple[int, Values]] = []
        self.worth: int | None = None
        self._draw = np.random.Generator(np.random.PCG64(seed))
        self._point = np.where(start == FREE, relaxed.values > 0.5, start == 1).astype(np.int8)
        self._held = _held(arrays, start, dict(relaxed.multipliers))
        self._mean = max(1.0, float(np.mean(self._held.rewards)))
        self._hot = HOT * self._mean * (1.0 + FEWER / len(start)) ** 0.5
        self._weights = self._held.weights.copy()
        self._weigh(1.0)
        total = min(MOST_MOVES, max(LEAST_MOVES, PAIRS * len(start) ** 2))
        self._rounds = [max(CHUNK, int(part * total)) for part in ROUNDS]
        self._walk: Walk | None = None

    @property
    def value(self) -> float | None:
        """The worth of the best, in rewards."""
        return None if self.worth is None else self.in_rewards(self.worth)

    @property
    def bound(self) -> float:
        """What no selection is worth more than, in rewards."""
        return self.in_rewards(self.most)

    def advance(self, seconds: float) -> bool:
        """Anneal for about so many seconds; tell whether there is nothing left to do."""
        until = now() + seconds
        while self._rounds and self.worth != self.most:
            self._walk = self._some(self._walk or self._begun())
            if now() >= until:
                break
        return not self._rounds or self.worth == self.most

    def _begun(self) -> Walk:
        """Begin a round with the relaxation, rounded."""
        held, values = self._held, self._point.copy()
        activity = np.zeros(len(held.lower), dtype=np.int64)
        owner = np.repeat(values.astype(np.int64), np.diff(held.of_column))
        np.add.at(activity, held.rows, held.coefficients * owner)
        broken = int(((activity > held.upper) | (activity < held.lower)).sum())
        at = [int(held.rewards @ values), -1, broken, 0]
        self._left, self._warm = self._rounds[0], self._hot
        if self._until is not None and self._made:
            there_are = (self._until - now()) * self._made / (now() - self._began)
            self._left = max(CHUNK, min(self._left, int(there_are)))
        self._cooling = (COLD * self._mean / self._hot) ** (1.0 / self._left)
        return Walk(values, values.copy(), activity, np.array(at, dtype=np.int64))

    def _weigh(self, strict: float) -> None:
        """Set the cost of violated rows."""
        self._strict = strict
        self._held.weights[:] = self._weights * strict
        self._held.charge[0] = CHARGE * self._mean * strict

    def _some(self, walk: Walk) -> Walk | None:
        """Make a chunk of moves; keep what is better, and adjust the weights of rows."""
        held = self._held
        draws = self._draw.random((min(CHUNK, self._left), DRAWS))
        draws[:, 4] = np.log(1.0 - draws[:, 4])
        walk.at[3] = 0
        self._warm = anneal(held, walk, draws, self._warm, self._cooling)
        kept = float(walk.at[3]) / len(draws)
        self._weigh(float(np.clip(self._strict * np.exp(SWIFT * (KEPT - kept)), 0.3, 30.0)))
        found = int(walk.at[1])
        if found > (-1 if self.worth is None else self.worth):
            self.worth, self.best = found, walk.best.copy()
        self._left -= len(draws)
        self._made += len(draws)
        if self._left > 0:
            return walk
        self._rounds.pop(0)
        if found >= 0:
            self.ends.append((found, walk.best))
        return None


def fits(arrays: Arrays) -> bool:
    """Tell whether the sums of rows and of rewards are held in 64 bits, and rewards in doubles."""
    whole = arrays.coefficients.dtype != object and bool(arrays.keys)
    return whole and sum(map(abs, arrays.rewards.tolist())) < LARGEST


def _held(arrays: Arrays, start: Values, prices: dict[int, float]) -> Held:
    """Lay out a program for the kernel: the core are the free columns worth nearly their price."""
    count, sizes = len(arrays.keys), np.diff(arrays.first)
    row_of = np.repeat(np.arange(count), sizes)
    by_column = np.argsort(arrays.columns, kind="stable")
    rows, columns = row_of[by_column], arrays.columns[by_column].astype(np.int64)
    coefficients = arrays.coefficients[by_column].astype(np.int64)
    rewards = np.array(arrays.rewards.tolist(), dtype=np.int64)
    price = np.array([prices.get(i, 0.0) for i in range(count)])
    large = sizes > FEW
    worth: Floats = rewards.astype(float)
    np.subtract.at(worth, columns, np.where(large[rows], price[rows], 0.0) * coefficients)
    free = np.flatnonzero(start == FREE)
    most_ = max(CORE, FOR_EACH * int((large & (price != 0)).sum()))
    core = free[np.argsort(np.abs(worth[free]), kind="stable")][:most_].astype(np.int64)
    inside = np.zeros(len(start), dtype=np.bool_)
    inside[core] = True
    entries = np.flatnonzero(inside[columns])
    entries = entries[np.argsort(rows[entries], kind="stable")]
    ratios = [
        (1 + rewards[arrays.columns[arrays.row(i)]]).sum() / arrays.reach(i) for i in range(count)
    ]
    weights = 1.2 * np.maximum(np.abs(price), np.array(ratios) * np.where(large, 0.3, 1.0))
    return Held(
        rewards=rewards,
        of_column=np.searchsorted(columns, np.arange(len(start) + 1)),
        rows=rows,
        coefficients=coefficients,
        lower=arrays.bounds(arrays.lower, -1),
        upper=arrays.bounds(arrays.upper, 1),
        weights=weights,
        charge=np.zeros(1),
        core=core,
        of_row=np.searchsorted(rows[entries], np.arange(count + 1)),
        entries=entries,
        owners=columns,
    )
