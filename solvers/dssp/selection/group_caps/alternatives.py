"""The choices that a selection is made of: one alternative in each group, one of two for an item.

Where a group's bounds cannot come into play among selections of interest, its items choose one by
one; else the group is one choice, whose alternatives are its near-best selections.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.group_caps.reading import Groups, Places
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask

AT_ONCE = 10_000
"""Items turned into choices between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Alternatives, from the best at the price to the worst.

    Weights and rewards are differences from the first alternative. The group's items are those from
    `start` up to `stop`; the tree's root holds those before `first`, and a node's items are its
    parent's with one put in or taken out.
    """

    weights: Floats
    rewards: Floats
    nodes: NDArray[np.int32]  # where each alternative is in the tree; -1 for its root
    start: int
    first: int
    stop: int
    parents: NDArray[np.int32]
    moved: NDArray[np.int32]

    def put(self, alternative: int, chosen: Mask) -> None:
        """Put an alternative into a selection of items, in place of what is there."""
        chosen[self.start : self.first] = True
        chosen[self.first : self.stop] = False
        node = int(self.nodes[alternative])
        while node >= 0:
            item = self.start + int(self.moved[node])
            chosen[item] = not chosen[item]
            node = int(self.parents[node])


@dataclass(frozen=True, eq=False)
class Menu:
    """All choices at a price."""

    base: Mask  # the items that are in where nothing else is chosen, (n,)
    weight: float  # of the base
    reward: float  # of the base
    choices: list[Choice]  # with more than one alternative, that with the cheapest second first
    missing: float  # how much worse than the base, at the price, anything else is at least


def menu(groups: Groups, price: float, loss: float, most: int) -> Iterator[Menu | None]:
    """Yield None at times, then the menu, unless some group has no alternative.

    ``loss`` is how much worse than the best, at the price, a selection of interest may be; ``most``
    limits a group's alternatives and states.
    """
    slip = groups.slip(price)
    gains = groups.rewards - price * groups.weights
    alone = _unconstrained_groups(groups, gains, loss + slip)
    base = (gains > 0) & alone[groups.owner]
    near = np.flatnonzero(alone[groups.owner] & (np.abs(gains) <= loss + slip))
    choices: list[Choice] = []
    for first in range(0, near.size, AT_ONCE):
        choices += _item_choices(groups, near[first : first + AT_ONCE], base)
        yield None
    costs = np.abs(gains[near]).tolist()
    missing, beyond = np.inf, 0.0
    for g in np.flatnonzero(~alone):
        choice, lost = _group_choice(groups, int(g), price, loss, most)
        yield None
        if choice is None:
            return
        missing, beyond = min(missing, lost), beyond + max(0.0, -lost)
        choice.put(0, base)
        if choice.weights.size > 1:
            choices.append(choice)
            costs.append(float(price * choice.weights[1] - choice.rewards[1]))
    order = np.argsort(np.array(costs), kind="stable")
    yield Menu(
        base,
        float(groups.weights[base].sum()),
        float(groups.rewards[base].sum()),
        [choices[c] for c in order],
        -beyond if beyond else missing,
    )


def _unconstrained_groups(groups: Groups, gains: Floats, loss: float) -> Mask:
    """Return the groups whose bounds hold whatever is chosen among the relevant items."""
    count = len(groups.low)
    most = np.bincount(groups.owner, groups.weights * (gains >= -loss), minlength=count)
    least = np.bincount(groups.owner, groups.weights * (gains > loss), minlength=count)
    return np.asarray((most <= groups.high) & (least >= groups.low), dtype=np.bool_)


def _item_choices(groups: Groups, items: Places, base: Mask) -> Iterator[Choice]:
    """Yield the choice between each of some items and none."""
    moves = np.zeros((2, items.size, 2))  # of weights and rewards, from what is in the base
    moves[:, :, 1] = groups.weights[items], groups.rewards[items]
    inside = base[items]
    moves[:, inside] *= -1.0
    nodes, parents, moved = (np.array(of, dtype=np.int32) for of in ([-1, 0], [-1], [0]))
    for j, own, weights, rewards in zip(items.tolist(), inside.tolist(), *moves, strict=True):
        yield Choice(weights, rewards, nodes, j, j + own, j + 1, parents, moved)


def _group_choice(
    groups: Groups, g: int, price: float, loss: float, most: int
) -> tuple[Choice | None, float]:
    """Return a group's choice, and how much worse than its best what it omits is."""
    from schedopt.solvers.dssp.selection.group_caps import kernels

    a, b = groups.first[g], groups.first[g + 1]
    items = groups.weights[a:b], groups.rewards[a:b], groups.ratios[a:b]
    low, high, slip = groups.low[g], groups.high[g], groups.slip(price)
    weights, rewards, nodes, parents, moved, _, cut = kernels.near_best_selections(
        items, price, low, high, loss, slip, most
    )
    if not weights.size:
        return None, 0.0
    worth = rewards - price * weights
    order = np.argsort(-worth, kind="stable")
    choice = Choice(
        weights=weights[order] - weights[order[0]],
        rewards=rewards[order] - rewards[order[0]],
        nodes=nodes[order],
        start=int(a),
        first=int(a) + kernels.break_solution(items, price, low, high)[0],
        stop=int(b),
        parents=parents,
        moved=moved,
    )
    return choice, float(worth[order[0]]) - cut
