"""The choices that a selection is made of: one alternative in each group, one of two for an item.

Where a group's bounds cannot come into play among selections of interest, its items choose one by
one; else the group is one choice, whose alternatives are its near-best selections.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.group_caps.reading import Groups
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask


class Choice(NamedTuple):
    """Alternatives, from the best at the price to the worst; the first is in the base.

    Weights and rewards are differences from the first alternative.
    """

    weights: Floats
    rewards: Floats
    of: "int | NearBest"  # an item, or a group

    def take(self, alternative: int, chosen: Mask) -> None:
        """Put an alternative into a selection of items that has the first."""
        if not isinstance(self.of, int):
            self.of.put(alternative, chosen)
        elif alternative:
            chosen[self.of] = not chosen[self.of]


class NearBest(NamedTuple):
    """The near-best selections of the items from `start` up to `stop`, as nodes of a tree.

    Its root, -1, has the items before `first`; a node's items are its parent's with one moved.
    """

    nodes: NDArray[np.int32]
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
    sign = np.where(base[near], -1.0, 1.0)  # the second alternative is the other way about
    moves = np.zeros((2, near.size, 2))
    moves[:, :, 1] = sign * groups.weights[near], sign * groups.rewards[near]
    choices = [Choice(*parts) for parts in zip(*moves, near.tolist(), strict=True)]
    missing, beyond = np.inf, 0.0
    for g in np.flatnonzero(~alone).tolist():
        choice, lost = _group_choice(groups, g, price, loss, most)
        yield None
        if choice is None:
            return
        missing, beyond = min(missing, lost), beyond + max(0.0, -lost)
        choice.take(0, base)
        if choice.weights.size > 1:
            choices.append(choice)
    choices.sort(key=lambda choice: price * choice.weights[1] - choice.rewards[1])
    yield Menu(
        base,
        float(groups.weights[base].sum()),
        float(groups.rewards[base].sum()),
        choices,
        -beyond if beyond else missing,
    )


def _unconstrained_groups(groups: Groups, gains: Floats, loss: float) -> Mask:
    """Return the groups whose bounds hold whatever is chosen among the relevant items."""
    count = len(groups.low)
    most = np.bincount(groups.owner, groups.weights * (gains >= -loss), minlength=count)
    least = np.bincount(groups.owner, groups.weights * (gains > loss), minlength=count)
    return np.asarray((most <= groups.high) & (least >= groups.low), dtype=np.bool_)


def _group_choice(
    groups: Groups, g: int, price: float, loss: float, most: int
) -> tuple[Choice | None, float]:
    """Return a group's choice, and how much worse than its best what it omits is."""
    from schedopt.solvers.dssp.selection.group_caps import kernels

    a, b = int(groups.first[g]), int(groups.first[g + 1])
    items = groups.weights[a:b], groups.rewards[a:b], groups.ratios[a:b]
    low, high, slip = groups.low[g], groups.high[g], groups.slip(price)
    weights, rewards, nodes, parents, moved, _, cut = kernels.near_best_selections(
        items, price, low, high, loss, slip, most
    )
    if not weights.size:
        return None, 0.0
    worth = rewards - price * weights
    order = np.argsort(-worth, kind="stable")
    weights, rewards = weights[order], rewards[order]
    first = a + kernels.break_solution(items, price, low, high)[0]
    near = NearBest(nodes[order], a, first, b, parents, moved)
    choice = Choice(weights - weights[0], rewards - rewards[0], near)
    return choice, float(worth[order[0]]) - cut
