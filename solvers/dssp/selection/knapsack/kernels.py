"""The dynamic program of `Core`: states outwards from the break item, one item at a time.

A state is a set of items: the break solution with some items near the break removed or added. It
has the room that the set leaves (negative if it does not fit), its reward, and a node of a tree
from which the set can be read. States are sorted by decreasing room and strictly increasing reward;
dominated states are dropped.

The kernels change the arrays of states in place, so that a run can be interrupted between any two
calls.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import kernel

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Array = Any  # kernels pass numba's own types to each other
Cursor = Any
Items = tuple[Floats, Floats, Floats]
States = tuple[Floats, Floats, NDArray[np.int32]]
Tree = tuple[NDArray[np.int32], NDArray[np.int32]]

CURSOR: Final = np.dtype(
    [
        ("broken", "i8"),  # the break item: the first, by ratio, that does not fit
        ("left", "i8"),  # items 0..left may still be taken out
        ("right", "i8"),  # items right.. may still be put in
        ("removable", "f8"),  # the weight of items 0..left
        ("front", "i8"),  # which of the two lists holds the states
        ("length", "i8"),  # how many
        ("moved", "i8"),  # the item that is being put in or taken out, while a merge is under way
        ("merging", "i8"),  # whether one is
        ("old", "i8"),  # states merged so far: without the item,
        ("new", "i8"),  # with it,
        ("made", "i8"),  # and what came of them
        ("top", "f8"),  # the reward of the last of these
        ("open", "f8"),  # the largest bound of these
        ("nodes", "i8"),  # nodes in use
        ("best", "i8"),  # the node of the best solution; START where the search has found none
        ("value", "f8"),  # its reward
        ("bound", "f8"),  # no solution is worth more than this, or than `value`
        ("root", "f8"),  # Dantzig's bound, for fixing items
        ("gain", "f8"),  # what a state's bound must exceed `value` by to be of interest
    ]
)

PROVEN, PAUSED, STATES_FULL, NODES_FULL = 0, 1, 2, 3
BREAK, START = -1, -2  # nodes that are not in the tree: the break solution, the first incumbent

_MERGED = -1
FIRST_STATES: Final = 1 << 12
"""Capacity of the lists of states at first."""
_LONG_LIST: Final = 1 << 18
"""States up to which unpromising ones are dropped before a merge, all at once."""


def _items_to_search(
    at: Cursor,
    items: Items,
    states: States,
    tree: Tree,
    budget: int,
    few: int = 40,
    short: int = 1 << 16,
) -> float:
    """Return the number of items, or infinity for a search that is worth compiling.

    That is a search of more than ``short`` states, or one of more than ``few`` items that continues
    after its first steps.
    """
    count = items[0].size
    begins = at.nodes == 0 or (count <= few and states[0].shape[1] == FIRST_STATES)
    return count if begins and budget <= short else np.inf


@kernel(python_up_to=300, size=_items_to_search)
def search(at: Cursor, items: Items, states: States, tree: Tree, budget: int) -> int:
    """Process items until about ``budget`` states were processed.

    ``items`` are weights and rewards by non-increasing ratio, then the ratios and a 0. ``states``
    are room, reward and node, two lists of each, shape (2, capacity). ``tree`` holds the parent and
    the item of each node; its set is that of the parent with the item added or removed. Returns
    PROVEN, PAUSED, STATES_FULL or NODES_FULL.
    """
    weights, rewards, ratios = items
    while True:
        if at.merging == 1:
            before = at.old + at.new
            code = _merge_states(at, items, states, tree, budget)
            budget -= at.old + at.new - before
            if code == PAUSED and budget > 0:
                continue
            if code != _MERGED:
                return code
        if at.length == 0 or at.bound < at.value + at.gain or not _next_item(at, weights):
            return PROVEN
        # Adding (or removing) the item lowers Dantzig's bound by the item's reduced reward.
        j = at.moved
        lost = abs(rewards[j] - ratios[at.broken] * weights[j])
        if at.root - lost < at.value + at.gain:
            continue
        # A pass over a long list takes too long between two checks of the clock.
        if at.length <= _LONG_LIST:
            budget -= at.length
        if at.length > _LONG_LIST or _drop_unpromising(at, items, states):
            at.merging = 1
            at.old = at.new = at.made = 0
            at.top = at.open = -np.inf
        if budget <= 0:
            return PAUSED


def _next_item(at: Cursor, weights: Floats) -> bool:
    """Go to the next item, alternately right and left of the break; False if none is left."""
    farther_right = at.right - at.broken
    farther_left = at.broken - 1 - at.left
    if at.right < weights.size and (at.left < 0 or farther_right <= farther_left):
        at.moved = at.right
        at.right += 1
    elif at.left >= 0:
        at.moved = at.left
        at.left -= 1
        at.removable -= weights[at.moved]
    else:
        return False
    return True


def _bound(state_room: float, state_reward: float, up: float, down: float, least: float) -> float:
    """Return the linear upper bound on the reward of a state.

    ``up`` is the best ratio of the items that may be added, and ``down`` the worst of those that
    may be removed. A state with less room than ``least`` cannot become feasible.
    """
    if state_room >= 0:
        return state_reward + state_room * up
    if state_room < least:
        return -np.inf
    return state_reward + state_room * down


def _drop_unpromising(at: Cursor, items: Items, states: States) -> bool:
    """Drop states that cannot improve with or without the item; return True if one can with it."""
    weights, rewards, ratios = items
    room, reward, node = states
    up, down, least = ratios[at.right], ratios[max(at.left, 0)], -at.removable
    sign = 1.0 if at.moved >= at.broken else -1.0
    weight, gained = sign * weights[at.moved], sign * rewards[at.moved]
    goal = at.value + at.gain
    rooms, worth, nodes = room[at.front], reward[at.front], node[at.front]
    kept, promising, largest = 0, False, -np.inf
    for i in range(at.length):
        without = _bound(rooms[i], worth[i], up, down, least)
        moved = _bound(rooms[i] - weight, worth[i] + gained, up, down, least)
        if without >= goal or moved >= goal:
            rooms[kept], worth[kept], nodes[kept] = rooms[i], worth[i], nodes[i]
            kept += 1
            promising = promising or moved >= goal
            largest = max(largest, without, moved)
    at.length = kept
    at.bound = min(at.bound, largest)
    return promising


def _merge_states(at: Cursor, items: Items, states: States, tree: Tree, budget: int) -> int:
    """Merge the states without and with the item into the other list, within the budget."""
    weights, rewards, ratios = items
    room, reward, node = states
    parent, item = tree
    up, down, least = ratios[at.right], ratios[max(at.left, 0)], -at.removable
    sign = 1.0 if at.moved >= at.broken else -1.0
    weight, gained = sign * weights[at.moved], sign * rewards[at.moved]
    rooms, worth, nodes = room[at.front], reward[at.front], node[at.front]
    next_rooms, next_worth, next_nodes = (
        room[1 - at.front],
        reward[1 - at.front],
        node[1 - at.front],
    )
    length, i, j, k, top, largest = at.length, at.old, at.new, at.made, at.top, at.open
    value, best, used = at.value, at.best, at.nodes
    goal = value + at.gain
    # Each step adds at most one state and one node, so that no check is needed in the loop.
    steps = min(max(budget, 1), 2 * length - i - j, next_rooms.size - k, parent.size - used)
    for _ in range(steps):
        # By decreasing room, then by decreasing reward. (A function would be slower.)
        without = i < length and (
            j >= length
            or rooms[i] > rooms[j] - weight
            or (rooms[i] == rooms[j] - weight and worth[i] >= worth[j] + gained)
        )
        if without:
            state_room, state_reward, state_node = rooms[i], worth[i], nodes[i]
            i += 1
        else:
            state_room, state_reward, state_node = rooms[j] - weight, worth[j] + gained, nodes[j]
            j += 1
        if state_reward <= top:
            continue
        bound = _bound(state_room, state_reward, up, down, least)
        better = state_room >= 0 and state_reward > value
        if not without and (bound >= goal or better):
            parent[used], item[used] = state_node, at.moved
            state_node = used
            used += 1
        if better:
            value, best = state_reward, state_node
            goal = value + at.gain
        if bound >= goal:
            next_rooms[k], next_worth[k], next_nodes[k] = state_room, state_reward, state_node
            k += 1
            top = state_reward
            largest = max(largest, bound)
    at.value, at.best, at.nodes = value, best, used
    at.old, at.new, at.made, at.top, at.open = i, j, k, top, largest
    if i + j == 2 * length:
        at.merging, at.length, at.front = 0, k, 1 - at.front
        at.bound = min(at.bound, largest)
        return _MERGED
    if k == next_rooms.size:
        return STATES_FULL
    return NODES_FULL if used == parent.size else PAUSED


@kernel(python_up_to=50_000)
def sweep(at: Cursor, node: Array, tree: Tree) -> None:
    """Remove the nodes that no state refers to. Parents stay before their children."""
    parent, item = tree
    place = np.zeros(at.nodes, dtype=np.int32)
    if at.best >= 0:
        place[at.best] = 1
    count = at.made if at.merging == 1 else 0
    for side, length in ((at.front, at.length), (1 - at.front, count)):
        for i in range(length):
            if node[side, i] >= 0:
                place[node[side, i]] = 1
    for i in range(at.nodes - 1, -1, -1):
        if place[i] == 1 and parent[i] >= 0:
            place[parent[i]] = 1
    used = 0
    for i in range(at.nodes):
        if place[i] == 1:
            parent[used] = place[parent[i]] if parent[i] >= 0 else parent[i]
            item[used] = item[i]
            place[i] = used
            used += 1
    for side, length in ((at.front, at.length), (1 - at.front, count)):
        for i in range(length):
            if node[side, i] >= 0:
                node[side, i] = place[node[side, i]]
    if at.best >= 0:
        at.best = place[at.best]
    at.nodes = used


@kernel(python_up_to=2000, size=lambda at, size, tree: size)
def solution(at: Cursor, size: int, tree: Tree) -> Mask:
    """Return the incumbent, a mask over the items by ratio."""
    chosen = np.zeros(size, dtype=np.bool_)
    chosen[: at.broken] = True
    parent, item = tree
    node = at.best
    while node >= 0:
        chosen[item[node]] = not chosen[item[node]]
        node = parent[node]
    return chosen


@kernel(python_up_to=2000)
def first_incumbent(weights: Floats, rewards: Floats, room: float, broken: int) -> Mask:
    """Return a good solution: greedy, or the break solution with a pair of items exchanged.

    For each item of the break solution, the best item outside that fits in its place is found among
    those sorted by weight.
    """
    chosen = np.zeros(weights.size, dtype=np.bool_)
    chosen[:broken] = True
    remaining, value = room - weights[:broken].sum(), 0.0
    outside = broken + np.argsort(weights[broken:], kind="mergesort")
    best = np.empty(outside.size, dtype=np.int64)  # of largest reward in each prefix of `outside`
    for i in range(outside.size):
        best[i] = outside[i]
        if i > 0 and rewards[best[i - 1]] >= rewards[outside[i]]:
            best[i] = best[i - 1]
    fits = np.searchsorted(weights[outside], remaining + weights[:broken], side="right")
    out, into = -1, -1
    for i in range(broken):
        fit = fits[i]
        if fit > 0 and rewards[best[fit - 1]] - rewards[i] > value:
            out, into = i, best[fit - 1]
            value = rewards[into] - rewards[out]
    greedy, room_left = 0.0, remaining
    for j in range(broken, weights.size):
        if weights[j] <= room_left:
            greedy += rewards[j]
            room_left -= weights[j]
    if value > greedy:
        chosen[out], chosen[into] = False, True
        remaining += weights[out] - weights[into]
    for j in range(broken, weights.size):
        if not chosen[j] and weights[j] <= remaining:
            chosen[j] = True
            remaining -= weights[j]
    return chosen
