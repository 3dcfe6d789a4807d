"""Greedy selectors on flat arrays, for integer weights that do not exceed the capacity."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import kernel
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Items, Mask

Array = Any  # numba gives its own types to what these kernels hand to one another

_NONE, _PREFIX, _SINGLE = -1, 0, 1


@kernel(python_up_to=2000)
def greedy(rewards: Floats, weights: Floats, room: float, order: Array) -> Mask:
    """Return the items that are taken greedily in the given order."""
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    add_greedily(chosen, weights, room, order)
    return chosen


@kernel(python_up_to=2000)
def add_greedily(chosen: Mask, weights: Floats, room: float, order: Array) -> None:
    """Add items to a selection in the given order while they fit into the remaining ``room``."""
    for j in order:
        if not chosen[j] and weights[j] <= room:
            chosen[j] = True
            room -= weights[j]


@kernel(python_up_to=2000)
def greedy_half(rewards: Floats, weights: Floats, room: float, order: Array) -> Mask:
    """Return the better of greedy and the most rewarding item, completed greedily."""
    chosen = greedy(rewards, weights, room, order)
    if rewards.size == 0:
        return chosen
    best = np.argmax(rewards)
    if rewards[best] > rewards[chosen].sum():
        chosen[:] = False
        chosen[best] = True
        add_greedily(chosen, weights, room - weights[best], order)
    return chosen


def greedy_three_quarters(items: Items) -> Mask:
    """Return the best pair of items completed by `greedy_half`; see the selector of this name."""
    chosen = greedy_half(items.rewards, items.weights, items.room, items.order)
    value = float(items.rewards[chosen].sum())
    rank = np.argsort(items.rewards, kind="stable")  # by reward, the file's order on ties
    rewards, weights = items.rewards[rank], items.weights[rank]
    ranked = np.empty_like(rank)
    ranked[rank] = np.arange(rank.size)
    order = ranked[items.order]
    heavier = np.argsort(weights, kind="stable")
    tree = np.zeros((rank.size + 1, 2))
    at = np.empty_like(rank)
    at[order] = np.arange(1, rank.size + 1)
    best = (_NONE, 0, 0)
    # A few thousand pairs' worth of work between two looks at the keyboard.
    step = max(1, 4_000_000 // max(1, rank.size))
    ranks = RankedItems(rewards, weights, at, heavier, tree)
    for start in range(0, rank.size, step):
        value, *better = best_pair(ranks, items.room, start, start + step, value)
        if better[0] != _NONE:
            best = (better[0], better[1], better[2])
    if best[0] == _NONE:
        return chosen
    picked: Mask = below_pair(rewards, weights, items.room, order, *best)[ranked]
    # The tree's sums of real-valued rewards are rounded: what counts is what is picked.
    return picked if items.rewards[picked].sum() > items.rewards[chosen].sum() else chosen


class RankedItems(NamedTuple):
    """Items by increasing rank, where item k is combined with items of lower rank.

    ``at`` is the place of each item by ratio, from 1; ``heavier`` are the items by increasing
    weight. ``tree``, shape (n + 1, 2), is a Fenwick tree over ``at`` of weights and rewards.
    """

    rewards: Floats
    weights: Floats
    at: Array
    heavier: Array
    tree: Floats


@kernel(python_up_to=600)
def best_pair(
    items: RankedItems, room: float, start: int, stop: int, value: float
) -> tuple[float, int, int, int]:
    """Return the best pair whose item of lower rank is in start..stop-1.

    ``value`` is the value to improve on. On entry the tree contains the items below start - 1, on
    return those below stop - 1.

    Returns
    -------
    tuple
        The value, how it is reached, and the two items.
    """
    rewards, weights, at, heavier, tree = items
    n = rewards.size
    best = (_NONE, 0, 0)
    for k in range(start, min(stop, n)):
        if k > 0:
            _add_to_prefix_tree(tree, at[k - 1], weights[k - 1], rewards[k - 1])
        below = tree.copy()
        heaviest, single = n - 1, k - 1
        for i in heavier:
            remaining = room - weights[k] - weights[i]
            if remaining < 0:
                break
            if i <= k:
                continue
            # `left` shrinks from partner to partner: what is too heavy now stays so.
            while heaviest >= 0 and weights[heavier[heaviest]] > remaining:
                j = heavier[heaviest]
                if j < k:
                    _add_to_prefix_tree(below, at[j], -weights[j], -rewards[j])
                heaviest -= 1
            while single >= 0 and weights[single] > remaining:
                single -= 1
            added, how = _prefix_reward(below, remaining), _PREFIX
            if single >= 0 and rewards[single] > added:
                added, how = rewards[single], _SINGLE
            if rewards[i] + rewards[k] + added > value:
                value = rewards[i] + rewards[k] + added
                best = (how, i, k)
    return value, best[0], best[1], best[2]


def _add_to_prefix_tree(tree: Floats, place: int, weight: float, reward: float) -> None:
    while place < tree.shape[0]:
        tree[place, 0] += weight
        tree[place, 1] += reward
        place += place & -place


def _prefix_reward(tree: Floats, left: float) -> float:
    """Return the reward of the longest prefix by ratio whose weight is at most ``left``."""
    step = 1
    while 2 * step < tree.shape[0]:
        step *= 2
    place, reward = 0, 0.0
    while step > 0:
        if place + step < tree.shape[0] and tree[place + step, 0] <= left:
            place += step
            left -= tree[place, 0]
            reward += tree[place, 1]
        step //= 2
    return reward


@kernel(python_up_to=2000)
def below_pair(
    rewards: Floats, weights: Floats, room: float, order: Array, how: int, i: int, k: int
) -> Mask:
    """Return the pair of items that `best_pair` found, completed greedily to a selection."""
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    chosen[i] = chosen[k] = True
    remaining = room - weights[i] - weights[k]
    most = remaining
    if how == _SINGLE:
        single = k - 1
        while weights[single] > remaining:
            single -= 1
        chosen[single] = True
        remaining -= weights[single]
    else:
        for j in order:
            if j < k and weights[j] <= most:
                if weights[j] > remaining:
                    break
                chosen[j] = True
                remaining -= weights[j]
    add_greedily(chosen, weights, remaining, order)
    return chosen


def _table_cells(least: Floats, taken: Array, rewards: Array, *_: object) -> float:
    return float(least.size * rewards.size)


@kernel(python_up_to=300_000, size=_table_cells)
def extend(
    least: Floats,
    taken: NDArray[np.uint8],
    rewards: NDArray[np.int64],
    weights: Floats,
    start: int,
    stop: int,
) -> None:
    """Extend a dynamic program by the items start..stop-1; ``stop`` may be past the last item.

    ``least`` is the smallest weight for each total reward, infinite if none has it. Bit q of row j
    of ``taken`` says whether the lightest subset of items 0..j with reward q contains item j.
    """
    for j in range(start, min(stop, rewards.size)):
        reward, weight = rewards[j], weights[j]
        # Downwards, so that what stands below is still without item j.
        for total in range(least.size - 1, reward - 1, -1):
            with_it = least[total - reward] + weight
            if with_it < least[total]:
                least[total] = with_it
                taken[j, total >> 3] |= np.uint8(1 << (total & 7))


@kernel(python_up_to=300_000)
def trace(taken: NDArray[np.uint8], rewards: NDArray[np.int64], total: int) -> Mask:
    """Return the lightest set with a given total reward."""
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    for j in range(rewards.size - 1, -1, -1):
        if taken[j, total >> 3] >> (total & 7) & 1:
            chosen[j] = True
            total -= rewards[j]
    return chosen
