"""The compiled search of one group: all its selections that are nearly the best at a price.

A group's problem at a price is to maximise Σ (R_j - price·w_j) x_j with low <= Σ w_j x_j <= high.
Its selections are enumerated outwards from the break item, as in `knapsack.kernels`: a
state is the break solution with some items changed, and it is kept while Dantzig's bound lets it
come within `loss` of the best. Lists that grow too long lose the states of the lowest bounds; the
highest of these is the `cut`, above which nothing is missing.

Weights and rewards are whole numbers in doubles, below 2^52, so their sums are exact; bounds have a
few roundings, which `slip` makes up for.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import njit, small

Floats = NDArray[np.float64]
Array = Any  # numba gives its own types to what these kernels hand to one another
Workspace = tuple[Array, ...]
"""Weights, rewards, bounds and nodes of two lists of states, shape (2, 2·most) each."""

ROOT: Final = -1


@njit(cache=True)
def workspace(most: int) -> Workspace:
    """Return the room that lists of up to `most` states need while they are merged."""
    size = (2, 2 * most + 2)
    return np.empty(size), np.empty(size), np.empty(size), np.empty(size, dtype=np.int32)


@njit(cache=True, plain=small(2000))
def break_solution(
    items: Array, price: float, low: float, high: float
) -> tuple[int, float, float, float, float]:
    """Return the break item, what stands before it, the break ratio and the bound that it gives."""
    weights, rewards, ratios = items
    broken, weight, reward = 0, 0.0, 0.0
    while broken < weights.size:
        wanted = ratios[broken] > price and weight + weights[broken] <= high
        if not wanted and weight >= low:
            break
        weight += weights[broken]
        reward += rewards[broken]
        broken += 1
    ratio = price
    if broken < weights.size and ratios[broken] > price:
        ratio = ratios[broken]
    elif broken > 0 and ratios[broken - 1] < price:
        ratio = ratios[broken - 1]
    bound = reward - ratio * weight
    if ratio > price:
        bound += (ratio - price) * high
    elif ratio < price:
        bound += (ratio - price) * low
    return broken, weight, reward, ratio, bound


@njit(cache=True)
def _bound(
    weight: float, reward: float, price: float, low: float, high: float, ends: Array
) -> float:
    """Return the most that a state can become worth at the price.

    `ends` are the best ratio of what may be put in, the worst of what may be taken out, and how
    much there is of each.
    """
    up, down, addable, removable = ends
    worth: float = reward - price * weight
    if weight > high:
        if weight - high > removable:
            return -np.inf
        least = low if down < price else high
        worth += (weight - max(least, weight - removable)) * (price - down)
    elif weight < low:
        if low - weight > addable:
            return -np.inf
        most = high if up > price else low
        worth += (min(most, weight + addable) - weight) * (up - price)
    elif up > price and addable > 0:
        worth += min(high - weight, addable) * (up - price)
    elif down < price and removable > 0:
        worth += min(weight - low, removable) * (price - down)
    return worth


@njit(cache=True)
def _trimmed(space: Workspace, side: int, length: int, most: int) -> tuple[int, float]:
    """Drop the states of the lowest bounds; return how many are left and the highest dropped."""
    weight, reward, bound, node = space
    found = bound[side, :length]
    floor = found[np.argsort(found, kind="mergesort")[length - most]]
    spare = most
    for i in range(length):
        if bound[side, i] > floor:
            spare -= 1
    kept, cut = 0, -np.inf
    for i in range(length):
        of_interest = bound[side, i] > floor
        if bound[side, i] == floor and spare > 0:
            spare -= 1
            of_interest = True
        if of_interest:
            weight[side, kept], reward[side, kept] = weight[side, i], reward[side, i]
            bound[side, kept], node[side, kept] = bound[side, i], node[side, i]
            kept += 1
        else:
            cut = max(cut, bound[side, i])
    return kept, cut


@njit(cache=True)
def near_best(
    items: Array,
    price: float,
    low: float,
    high: float,
    loss: float,
    slip: float,
    most: int,
    by_weight: bool,
    space: Workspace,
) -> tuple[Array, Array, Array, Array, Array, float, float]:
    """Enumerate the selections of a group that are within `loss` of its best at a price.

    Parameters
    ----------
    items : tuple of ndarray of float, shape (n,)
        Weights, rewards and ratios, by non-increasing ratio.
    price : float
        What a unit of weight costs.
    low, high : float
        What the weights must come to, and may.
    loss : float
        How much worse than the best a selection may be.
    slip : float
        What rounding can do to a bound.
    most : int
        States to keep at most.
    by_weight : bool
        Whether a selection is only better than another of the same weight; else also than any that
        is heavier, which needs `low` to be out of reach.
    space : tuple
        From `workspace`.

    Returns
    -------
    weights, rewards, nodes : ndarray
        Of these selections, by rising weight.
    parents, moved : ndarray of int
        The tree in which a node's items that differ from the break solution can be read.
    best, cut : float
        What the best is worth at the price; above which worth no selection is missing.
    """
    weights, rewards, ratios = items
    size = weights.size
    weight, reward, bound, node = space
    broken, start, earned, ratio, root = break_solution(items, price, low, high)
    best, cut = _greedy(items, price, low, high, broken, start, earned), -np.inf
    parents, moved = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int32)
    nodes, side, length = 0, 0, 1
    weight[0, 0], reward[0, 0], bound[0, 0], node[0, 0] = start, earned, root, ROOT
    left, right = broken - 1, broken
    removable, addable = start, weights[broken:].sum()
    while length > 0:
        goal = best - loss - slip
        # With such an item changed, no selection is good enough.
        while right < size and root - abs(rewards[right] - ratio * weights[right]) < goal:
            addable -= weights[right]
            right += 1
        while left >= 0 and root - abs(rewards[left] - ratio * weights[left]) < goal:
            removable -= weights[left]
            left -= 1
        if right < size and (left < 0 or right - broken <= broken - 1 - left):
            item, sign = right, 1.0
            addable -= weights[right]
            right += 1
        elif left >= 0:
            item, sign = left, -1.0
            removable -= weights[left]
            left -= 1
        else:
            break
        ends = (
            ratios[right] if right < size else -np.inf,
            ratios[left] if left >= 0 else np.inf,
            addable if right < size else 0.0,
            removable if left >= 0 else 0.0,
        )
        while parents.size < nodes + length:
            parents = np.append(parents, np.empty_like(parents))
            moved = np.append(moved, np.empty_like(moved))
        change = (item, sign * weights[item], sign * rewards[item])
        state, terms, known = (side, length, nodes), (price, low, high), (best, loss + slip)
        length, nodes, best = _merge(
            space, state, change, terms, ends, known, by_weight, (parents, moved)
        )
        side = 1 - side
        if length > most:
            length, dropped = _trimmed(space, side, length, most)
            cut = max(cut, dropped)
    found = _worth_at_least(space, side, length, (price, low, high), best - loss - slip)
    return (*found, parents[:nodes], moved[:nodes], best, cut)


@njit(cache=True)
def _worth_at_least(
    space: Workspace, side: int, length: int, terms: tuple[float, float, float], goal: float
) -> tuple[Array, Array, Array]:
    """Return weight, reward and node of the states that keep the bounds and are worth so much."""
    weight, reward, _, node = space
    price, low, high = terms
    kept = 0
    for i in range(length):
        w, r = weight[side, i], reward[side, i]
        if low <= w <= high and r - price * w >= goal:
            weight[side, kept], reward[side, kept] = w, r
            node[side, kept] = node[side, i]
            kept += 1
    return weight[side, :kept].copy(), reward[side, :kept].copy(), node[side, :kept].copy()


@njit(cache=True)
def _merge(
    space: Workspace,
    state: tuple[int, int, int],
    change: tuple[int, float, float],
    terms: tuple[float, float, float],
    ends: Array,
    known: tuple[float, float],
    by_weight: bool,
    tree: tuple[Array, Array],
) -> tuple[int, int, float]:
    """Merge the states without and with an item changed into the other list.

    Parameters
    ----------
    space : tuple
    state : tuple of int
        The list that has the states, how many there are, and how many nodes.
    change : tuple
        The item, and what changing it adds to weight and reward.
    terms : tuple of float
        Price, least and largest weight.
    ends : tuple of float
        See `_bound`.
    known : tuple of float
        The best worth so far, and how much less is still of interest.
    by_weight : bool
    tree : tuple of ndarray of int

    Returns
    -------
    length, nodes : int
    best : float
    """
    weight, reward, bound, node = space
    parents, moved = tree
    side, length, nodes = state
    item, more, gained = change
    price, low, high = terms
    best, margin = known
    other = 1 - side
    i, j, kept, top = 0, 0, 0, -np.inf
    while i < length or j < length:
        without = i < length and (
            j >= length
            or weight[side, i] < weight[side, j] + more
            or (
                weight[side, i] == weight[side, j] + more
                and reward[side, i] >= reward[side, j] + gained
            )
        )
        if without:
            w, r, parent = weight[side, i], reward[side, i], node[side, i]
            i += 1
        else:
            w, r, parent = weight[side, j] + more, reward[side, j] + gained, node[side, j]
            j += 1
        if r <= top and (not by_weight or w == weight[other, kept - 1]):
            continue
        limit = _bound(w, r, price, low, high, ends)
        if low <= w <= high and r - price * w > best:
            best = r - price * w
        if limit < best - margin:
            continue
        if not without:
            parents[nodes], moved[nodes] = parent, item
            parent = nodes
            nodes += 1
        weight[other, kept], reward[other, kept] = w, r
        bound[other, kept], node[other, kept] = limit, parent
        kept += 1
        top = r
    return kept, nodes, best


@njit(cache=True)
def _greedy(
    items: Array,
    price: float,
    low: float,
    high: float,
    broken: int,
    weight: float,
    reward: float,
) -> float:
    """Return what the break solution is worth, with whatever else pays and fits, if it is one."""
    weights, rewards, ratios = items
    if weight > high:
        return -np.inf
    for j in range(broken, weights.size):
        if ratios[j] <= price:
            break
        if weight + weights[j] <= high:
            weight += weights[j]
            reward += rewards[j]
    return float(reward - price * weight) if weight >= low else -np.inf
