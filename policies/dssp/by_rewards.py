"""Dynamic programming by total reward, exact for whole rewards, and scaled to approximate any."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from schedopt.policies.registry import NotApplicableError
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Items, Mask

MEMORY: Final = 1 << 30
"""Bytes that the table of decisions may take."""

_BLOCK: Final = 50_000_000  # table entries between two looks at the keyboard


def optimum(items: Items) -> Mask:
    """Find an optimum of whole rewards by the least demand for every total up to Dantzig's bound.

    Raises `NotApplicableError` if a reward is not whole, or the decisions need more memory than
    `MEMORY`.
    """
    rewards = items.rewards
    if not np.array_equal(rewards, np.floor(rewards)) or rewards.max(initial=0.0) > 2.0**53:
        odd = next(r for r in rewards if r != np.floor(r) or r > 2.0**53)
        raise NotApplicableError(
            f"dp-profits needs whole rewards of at most 2^53: one is {float(odd)!r}"
        )
    if rewards.size == 0:
        return np.zeros(0, dtype=np.bool_)
    common = int(np.gcd.reduce(rewards.astype(np.int64)))
    # One more than the bound, lest its rounding cost the optimum.
    top = int(items.fractional_bound / common * (1 + 1e-12)) + 1
    table = _LeastWeights("dp-profits", (rewards / common).astype(np.int64), items.weights, top)
    reached = table.least <= items.room
    return table.members(int(np.flatnonzero(reached)[-1]))


def approximation(items: Items, epsilon: float) -> Mask:
    """Find a selection worth at least (1 - epsilon) of the optimum.

    Let z be the optimum and U Dantzig's bound: z <= U <= 2z, since U is at most what greedy takes
    before its first miss, plus that item. Let e = epsilon/3. Items worth more than e·U are large;
    their rewards are rounded down to multiples of d = e²·U, by less than e of each, since each is
    worth more than d/e. For every sum of rounded rewards (there are U/d = 1/e² of them) the table
    has the least demand, and the room that this leaves is filled with small items by ratio.

    One of these sums is that of the optimum's large items: the table's set is worth at least
    (1 - e) of them and leaves no less room. Filling up by ratio loses at most one small item
    against the best use of the room, at most e·U <= 2e·z. All in all at most 3e·z is lost.

    Of the large items of one rounded reward q only the U/(d·q) lightest can be of use, so the
    table has O(log(1/epsilon)/epsilon²) items at most, however many there are.

    ``items``: rewards and demands may be any; ``epsilon``: between 0 and 1.

    Returns the selection.

    Raises `NotApplicableError` if the decisions need more memory than `MEMORY`.
    """
    from schedopt.policies.dssp import selector_kernels as kernels

    fallback = kernels.greedy_half(items.rewards, items.weights, items.room, items.order)
    if fallback.all():
        return fallback
    shares = items.rewards / items.fractional_bound  # of U, and so are the threshold and the unit
    threshold = epsilon / 3
    unit = threshold**2
    top = int(1 / unit) + 1  # one more than U/d, lest rounding cost a sum
    large = shares > threshold
    candidates = _lightest_items(np.flatnonzero(large), shares / unit, items.weights, top)
    rounded = np.floor(shares[candidates] / unit).astype(np.int64)
    table = _LeastWeights("fptas", rounded, items.weights[candidates], top)

    small = items.order[~large[items.order]]
    filled = np.concatenate(([0.0], np.cumsum(items.weights[small])))
    gained = np.concatenate(([0.0], np.cumsum(shares[small])))
    sums = np.flatnonzero(table.least <= items.room)
    fits = np.searchsorted(filled, items.room - table.least[sums], side="right") - 1
    best = int(np.argmax(sums * unit + gained[fits]))

    chosen = np.zeros(items.rewards.size, dtype=np.bool_)
    chosen[candidates[table.members(int(sums[best]))]] = True
    chosen[small[: fits[best]]] = True
    kernels.add_greedily(
        chosen, items.weights, items.room - float(items.weights[chosen].sum()), items.order
    )
    if items.rewards[chosen].sum() < items.rewards[fallback].sum():
        return fallback
    return chosen


def _lightest_items(
    large: NDArray[np.intp], scaled: Floats, weights: Floats, top: int
) -> NDArray[np.intp]:
    """Keep, of the large items of each rounded reward q, the `top`/q lightest."""
    rounded = np.floor(scaled[large]).astype(np.int64)
    by_class = np.lexsort((weights[large], rounded))  # stable: the file's order on ties
    rounded = rounded[by_class]
    first = np.searchsorted(rounded, rounded)
    return np.sort(large[by_class[np.arange(large.size) - first < top // rounded]])


class _LeastWeights:
    """The least weight of a set of each total reward, and the set.

    ``whose``: the policy, for messages; ``rewards``: at least 1 each (shape (n,)); ``weights``:
    whole numbers (shape (n,)); ``top``: the largest total reward to look at.
    """

    def __init__(self, whose: str, rewards: NDArray[np.int64], weights: Floats, top: int) -> None:
        from schedopt.policies.dssp import selector_kernels as kernels

        row = top // 8 + 1
        needed = rewards.size * row + 8 * top
        if needed > MEMORY:
            raise NotApplicableError(
                f"{whose} needs {needed / 2**30:.3g} GiB for {rewards.size} jobs and {top} total "
                f"rewards: more than the {MEMORY / 2**30:.3g} GiB it may take"
            )
        self.rewards = rewards
        self.least = np.full(top + 1, np.inf)
        self.least[0] = 0.0
        self.taken = np.zeros((rewards.size, row), dtype=np.uint8)
        step = max(1, _BLOCK // (top + 1))
        for start in range(0, rewards.size, step):
            kernels.extend(self.least, self.taken, rewards, weights, start, start + step)

    def members(self, total: int) -> Mask:
        """Return the set of that total reward, shape (n,)."""
        from schedopt.policies.dssp import selector_kernels as kernels

        return kernels.trace(self.taken, self.rewards, total)
