"""The compiled combination of choices, one from each group, into selections that fit together.

A choice has alternatives: by how much weight and reward change against what is best at the price.
A state is what the choices made so far come to; by rising weight and strictly rising reward, and
kept while the best that it can still become beats the incumbent. Where there are too many, those
of the lowest bounds go; the highest of these is the `cut`, above which nothing is missing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from schedopt.solvers.compiling import njit, small
from schedopt.solvers.dssp.selection.shares.group_kernels import Floats

Array = Any  # numba gives its own types to what these kernels hand to one another

START: Final = -1
"""The node of the state in which everything is as it is best at the price."""


@njit(cache=True, plain=small(2000))
def rates(first: Array, weights: Floats, rewards: Floats) -> tuple[Array, Array, Array, Array]:
    """Return what the choices from each on can still do, shape (choices + 1,) each.

    Returns
    -------
    up, down : ndarray of float
        The most reward for a unit more of weight, and the least that a unit less costs.
    more, less : ndarray of float
        How much heavier and lighter they can make a selection.
    """
    choices = first.size - 1
    up, down = np.zeros(choices + 1), np.full(choices + 1, np.inf)
    more, less = np.zeros(choices + 1), np.zeros(choices + 1)
    for c in range(choices - 1, -1, -1):
        up[c], down[c] = up[c + 1], down[c + 1]
        most, least = 0.0, 0.0
        for k in range(first[c], first[c + 1]):
            if weights[k] > 0:
                up[c] = max(up[c], rewards[k] / weights[k])
            elif weights[k] < 0:
                down[c] = min(down[c], rewards[k] / weights[k])
            most, least = max(most, weights[k]), min(least, weights[k])
        more[c], less[c] = more[c + 1] + most, less[c + 1] - least
    return up, down, more, less


@njit(cache=True)
def _limit(weight: float, reward: float, room: float, ends: Array) -> float:
    """Return the most reward that a state can become worth, or what is left of the room."""
    up, down, more, less = ends
    if weight > room:
        return float(reward - (weight - room) * down) if weight - room <= less else -np.inf
    return float(reward + min(room - weight, more) * up)


@njit(cache=True, plain=small(2000))
def combine(
    state: tuple[Array, Array, Array],
    alternatives: tuple[Array, Array],
    room: float,
    ends: Array,
    known: tuple[float, float, float],
    most: int,
) -> tuple[Array, Array, Array, Array, tuple[float, float, int, int]]:
    """Make one choice more.

    Parameters
    ----------
    state : tuple of ndarray
        Weight, reward and node of the states, by rising weight.
    alternatives : tuple of ndarray of float
        Weight and reward of each, best at the price first.
    room : float
        What the weights may come to.
    ends : tuple of float
        `rates` of the choices that are then left.
    known : tuple of float
        The incumbent's reward, by how much it must be beaten, less what rounding can do, and the
        price.
    most : int
        States to keep at most.

    Returns
    -------
    weights, rewards : ndarray of float
        Of the new states.
    parents, taken : ndarray of int
        The node that each comes from, and the alternative that it takes.
    found : tuple
        The best reward of a state that fits, the cut, and that state's parent and alternative
        (-1 where none beats the incumbent).
    """
    weight, reward, node = state
    more_weight, more_reward = alternatives
    best, gain, price = known
    size = 4 * most + 4
    weights, rewards, limits = np.empty(size), np.empty(size), np.empty(size)
    parents, taken = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    made, cut, parent, choice = 0, -np.inf, -1, -1
    for i in range(weight.size):
        worth = reward[i] + price * (room - weight[i])
        for k in range(more_weight.size):
            w, r = weight[i] + more_weight[k], reward[i] + more_reward[k]
            if worth + more_reward[k] - price * more_weight[k] < best + gain:
                break
            limit = _limit(w, r, room, ends)
            if w <= room and r > best:
                best, parent, choice = r, node[i], k
            if limit < best + gain or limit <= cut:
                continue
            weights[made], rewards[made], limits[made] = w, r, limit
            parents[made], taken[made] = node[i], k
            made += 1
            if made == size:
                order, dropped = _of_highest(np.arange(size), limits, 2 * most)
                cut, made = max(cut, dropped), order.size
                for place in range(made):  # ascending: nothing is written before it is read
                    at = order[place]
                    weights[place], rewards[place], limits[place] = (
                        weights[at],
                        rewards[at],
                        limits[at],
                    )
                    parents[place], taken[place] = parents[at], taken[at]
    order = _undominated(weights[:made], rewards[:made], limits[:made], best + gain)
    if order.size > most:
        order, dropped = _of_highest(order, limits, most)
        cut = max(cut, dropped)
    return (
        weights[order],
        rewards[order],
        parents[order],
        taken[order],
        (best, cut, parent, choice),
    )


@njit(cache=True)
def _of_highest(order: Array, limits: Array, most: int) -> tuple[Array, float]:
    """Return those of some states that have the highest bounds, and the highest bound dropped."""
    found = limits[order]
    floor = found[np.argsort(found, kind="mergesort")[order.size - most]]
    spare = most - (limits[order] > floor).sum()
    kept = 0
    for i in order:
        if limits[i] == floor:
            spare -= 1
        if limits[i] > floor or (limits[i] == floor and spare >= 0):
            order[kept] = i
            kept += 1
    return order[:kept], floor


@njit(cache=True)
def _undominated(weights: Array, rewards: Array, limits: Array, goal: float) -> Array:
    """Return the states of interest that no other dominates, by rising weight."""
    order = np.argsort(weights, kind="mergesort")
    kept = 0
    for place in range(order.size):
        i = order[place]
        if limits[i] < goal:
            continue
        if kept and weights[order[kept - 1]] == weights[i]:
            if rewards[order[kept - 1]] < rewards[i]:
                order[kept - 1] = i
            continue
        if kept and rewards[order[kept - 1]] >= rewards[i]:
            continue
        order[kept] = i
        kept += 1
    return order[:kept]
