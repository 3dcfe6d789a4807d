"""The compiled search for selections under shares: group by group, then all groups together.

A group's problem at a price is to maximise Σ (R_j - price·w_j) x_j with low <= Σ w_j x_j <= high.
Its selections are enumerated outwards from the break item, as in `knapsack.kernels`: a state is the
break solution with some items changed, and it is kept while Dantzig's bound lets it come within
`loss` of the best (`near_best`).

Of the groups' near-best selections one is chosen from each (`combine`). A choice has alternatives:
by how much weight and reward change against what is best at the price. A state is what the choices
made so far come to, and it is kept while the best that it can still become beats the incumbent.

States are by rising weight and strictly rising reward. Lists that grow too long lose the states of
the lowest bounds; the highest of these is the `cut`, above which nothing is missing.

Weights and rewards are whole numbers in doubles, below 2^52, so their sums are exact; bounds have a
few roundings, which `slip` makes up for.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import kernel

Floats = NDArray[np.float64]
Array = Any  # numba gives its own types to what these kernels hand to one another
Workspace = tuple[Array, ...]
"""Weights, rewards, bounds and nodes of two lists of states, shape (2, 2·most) each."""

LONGEST: Final = 1 << 13
"""States beyond which a list that has nothing to show is not made longer."""

START: Final = -1
"""The node of the state in which nothing is changed: the root of a tree."""


def workspace(most: int) -> Workspace:
    """Return the room that lists of up to `most` states need while they are merged."""
    size = (2, 2 * most + 2)
    return np.empty(size), np.empty(size), np.empty(size), np.empty(size, dtype=np.int32)


@kernel(python_up_to=2000)
def break_solution(
    items: Array, price: float, low: float, high: float
) -> tuple[int, float, float, float, float]:
    """Return the break item, weight and reward before it, the break ratio and its bound."""
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


def _states_of_highest_bound(order: Array, limits: Array, most: int) -> tuple[Array, float]:
    """Return the states with the highest bounds, and the highest dropped bound."""
    bounds = limits[order]
    by_limit = np.argsort(bounds, kind="mergesort")
    floor, dropped = bounds[by_limit[order.size - most]], bounds[by_limit[order.size - most - 1]]
    spare = most - (limits[order] > floor).sum()
    kept = 0
    for i in order:
        if limits[i] == floor:
            spare -= 1
        if limits[i] > floor or (limits[i] == floor and spare >= 0):
            order[kept] = i
            kept += 1
    return order[:kept], dropped


def _drop_low_states(space: Workspace, side: int, length: int, most: int) -> tuple[int, float]:
    """Drop the states of lowest bounds; return how many remain, and the highest bound dropped."""
    weight, reward, bound, node = space
    order, dropped = _states_of_highest_bound(np.arange(length), bound[side], most)
    for kept in range(most):  # ascending: nothing is written before it is read
        i = order[kept]
        weight[side, kept], reward[side, kept] = weight[side, i], reward[side, i]
        bound[side, kept], node[side, kept] = bound[side, i], node[side, i]
    return most, dropped


def near_best(
    items: Array,
    price: float,
    low: float,
    high: float,
    loss: float,
    slip: float,
    most: int,
    space: Workspace,
) -> tuple[Array, Array, Array, Array, Array, float, float]:
    """Enumerate the selections of a group that are within `loss` of its best at a price.

    Returns weights, rewards and nodes of these selections, by rising weight; the tree (parents,
    moved items) in which a node's items that differ from the break solution can be read; what the
    best is worth at the price; and the worth above which no selection is missing. `slip` bounds
    rounding errors. Without a floor, a selection also dominates heavier ones.
    """
    weights, rewards, ratios = items
    size = weights.size
    weight, reward, bound, node = space
    broken, start, earned, ratio, root = break_solution(items, price, low, high)
    best = earned - price * start if low <= start <= high else -np.inf
    cut = -np.inf
    parents, moved = np.empty(64, dtype=np.int32), np.empty(64, dtype=np.int32)
    nodes, side, length = 0, 0, 1
    weight[0, 0], reward[0, 0], bound[0, 0], node[0, 0] = start, earned, root, START
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
        state, terms, bounds = (side, length, nodes), (price, low, high), (best, loss + slip)
        length, nodes, best = _merge_states(
            space, state, change, terms, ends, bounds, (parents, moved)
        )
        side = 1 - side
        if length > most:
            length, dropped = _drop_low_states(space, side, length, most)
            cut = max(cut, dropped)
    near = _states_reaching(space, side, length, (price, low, high), best - loss - slip)
    return (*near, parents[:nodes], moved[:nodes], best, cut)


def _states_reaching(
    space: Workspace, side: int, length: int, terms: tuple[float, float, float], goal: float
) -> tuple[Array, Array, Array]:
    """Return weight, reward and node of the states that keep the bounds and reach a reward."""
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


def _merge_states(
    space: Workspace,
    state: tuple[int, int, int],
    change: tuple[int, float, float],
    terms: tuple[float, float, float],
    ends: Array,
    known: tuple[float, float],
    tree: tuple[Array, Array],
) -> tuple[int, int, float]:
    """Merge the states without and with an item changed into the other list; see `near_best`."""
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
        if r <= top and (low <= 0 or w == weight[other, kept - 1]):
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


@kernel(python_up_to=2000)
def near_best_selections(
    items: Array, price: float, low: float, high: float, loss: float, slip: float, most: int
) -> tuple[Array, Array, Array, Array, Array, float, float]:
    """Return the near-best selections of a group: see `near_best`."""
    while True:
        near = near_best(items, price, low, high, loss, slip, most, workspace(most))
        if near[0].size > 0 or near[6] == -np.inf or most >= LONGEST:
            return near
        most *= 16  # a short list may lose all that keeps the bounds


@kernel(python_up_to=2000)
def best_of_groups(
    first: Array, items: Array, bounds: Array, price: float, slip: float, most: int
) -> tuple[Array, Array, Array]:
    """Return weight and reward of each group's best at a price, and the worth that may be missing.

    The items of group g are those from ``first[g]`` on; `bounds` are the groups' least and largest
    weights. What is missing is infinite where no selection within the group's bounds was found.
    """
    weights, rewards, ratios = items
    low, high = bounds
    groups = first.size - 1
    best_weight, best_reward = np.zeros(groups), np.zeros(groups)
    missing = np.zeros(groups)
    for g in range(groups):
        a, b = first[g], first[g + 1]
        own = (weights[a:b], rewards[a:b], ratios[a:b])
        w, r, _, _, _, best, cut = near_best_selections(
            own, price, low[g], high[g], 0.0, slip, most
        )
        if not w.size:
            missing[g] = np.inf
            continue
        worth = r - price * w
        k = np.argmax(worth)
        best_weight[g], best_reward[g] = w[k], r[k]
        missing[g] = max(cut, best) - worth[k] if max(cut, best) > worth[k] else 0.0
    return best_weight, best_reward, missing


@kernel(python_up_to=2000)
def rates(first: Array, weights: Floats, rewards: Floats) -> tuple[Array, Array, Array, Array]:
    """Return what the choices from each place on can still add, shape (choices + 1,) each.

    These are the most reward for a unit more of weight, the least that a unit less costs, and how
    much heavier and how much lighter they can make a selection.
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


def _reward_limit(weight: float, reward: float, room: float, ends: Array) -> float:
    """Return the most reward that a state can become worth within the room."""
    up, down, more, less = ends
    if weight > room:
        return float(reward - (weight - room) * down) if weight - room <= less else -np.inf
    return float(reward + min(room - weight, more) * up)


def _python_steps(state: Array, alternatives: Array, *_: object) -> float:
    """Return about how many steps of Python it takes to combine states with a choice."""
    return 5.0 * float(state[0].size * alternatives[0].size)


@kernel(python_up_to=500_000, size=_python_steps)
def combine(
    state: tuple[Array, Array],
    alternatives: tuple[Array, Array],
    room: float,
    ends: Array,
    known: tuple[float, float, float],
    most: int,
) -> tuple[Array, Array, Array, Array, tuple[float, float, int, int]]:
    """Combine the states with one more choice.

    States, by rising weight, are weights and rewards, as alternatives are, best at the price first;
    `ends` are the `rates` of the choices left; `known` is the incumbent's reward, by how much it
    must be beaten less rounding, and the price. Returns the new states' weights, rewards, the
    states and the alternatives that they are made of, then the best reward of a state that fits,
    the cut, and that state's parent and alternative (-1 where none beats the incumbent).
    """
    weight, reward = state
    more_weight, more_reward = alternatives
    best, gain, price = known
    size = 4 * most + 4
    weights, rewards, limits = np.empty(size), np.empty(size), np.empty(size)
    parents, taken = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    count, cut, parent, choice = 0, -np.inf, -1, -1
    for i in range(weight.size):
        worth = reward[i] + price * (room - weight[i])
        for k in range(more_weight.size):
            w, r = weight[i] + more_weight[k], reward[i] + more_reward[k]
            if worth + more_reward[k] - price * more_weight[k] < best + gain:
                break
            limit = _reward_limit(w, r, room, ends)
            if w <= room and r > best:
                best, parent, choice = r, i, k
            if limit < best + gain or limit <= cut:
                continue
            weights[count], rewards[count], limits[count] = w, r, limit
            parents[count], taken[count] = i, k
            count += 1
            if count == size:
                order, dropped = _states_of_highest_bound(np.arange(size), limits, 2 * most)
                cut, count = max(cut, dropped), order.size
                for place in range(count):  # ascending: nothing is written before it is read
                    at = order[place]
                    weights[place], rewards[place], limits[place] = (
                        weights[at],
                        rewards[at],
                        limits[at],
                    )
                    parents[place], taken[place] = parents[at], taken[at]
    order = _undominated_states(weights[:count], rewards[:count], limits[:count], best + gain)
    if order.size > most:
        order, dropped = _states_of_highest_bound(order, limits, most)
        cut = max(cut, dropped)
    return (
        weights[order],
        rewards[order],
        parents[order],
        taken[order],
        (best, cut, parent, choice),
    )


def _undominated_states(weights: Array, rewards: Array, limits: Array, goal: float) -> Array:
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
