"""An exact search for the best selection under shares, which can be stopped and asked any time.

A price p for each unit of weight relaxes the capacity: the groups' own knapsacks are then together
worth L(p) = p·room + Σ_g max {Σ (R_j - p·w_j) x_j}, which no selection that fits can exceed. L is
convex and piecewise linear: its minimum is found where the lines on either side of it meet.

Source: Kelley, The cutting-plane method for solving convex programs, SIAM J. 8, 1960, in one
dimension; the relaxation after Fisher, The Lagrangian relaxation method, Management Science 27,
1981.

A selection is one alternative in each group, or one of two for an item. Where a group's bounds
cannot come into play among selections of interest, its items choose one by one; else the group is
one choice, whose alternatives are its near-best selections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, inf
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, conclude, remaining_limits, round_up
from schedopt.solvers.dssp.selection.branch_and_bound.solving import tree
from schedopt.solvers.dssp.selection.group_caps.reading import Groups
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, drive, version

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected


class Choice(NamedTuple):
    """Alternatives, from the best at the price to the worst; the first is in the base.

    Weights and rewards are differences from the first alternative.
    """

    weights: Floats
    rewards: Floats
    of: int | NearBest  # an item, or a group

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


STATES: Final = 512
"""States that a group's search keeps while prices are looked for."""
STEPS: Final = 40
"""Prices that are tried."""
STEEPEST: Final = 2.0**16
"""A price this many times the best ratio makes every selection too light."""
ROUNDS: Final = (
    (32, 1 << 8),
    (64, 1 << 11),
    (256, 1 << 14),
    (1 << 10, 1 << 17),
    (1 << 12, 1 << 20),
)
"""Limits, round by round, on the alternatives of a group and on the states of their combination."""
MEMORY: Final = 1 << 30
"""Bytes that the states of all choices may take."""


class PricedGroups(NamedTuple):
    """What is best in each group at a price."""

    price: float
    weight: float  # of all groups
    reward: float  # of all groups
    bound: float  # rounded up; infinite where some group has no known selection within its bounds

    @classmethod
    def at_price(cls, groups: Groups, price: float) -> PricedGroups:
        """Solve the groups' knapsacks at a price."""
        from schedopt.solvers.dssp.selection.group_caps import kernels

        slip = groups.slip(price)
        items, bounds = (groups.weights, groups.rewards, groups.ratios), (groups.low, groups.high)
        weights, rewards, missing = kernels.best_of_groups(
            groups.first, items, bounds, price, slip, STATES
        )
        weight, reward = float(weights.sum()), float(rewards.sum())
        bound = reward + price * (groups.room - weight) + float(missing.sum()) + slip
        return cls(price, weight, reward, bound)


def capacity_prices(groups: Groups) -> Iterator[PricedGroups]:
    """Yield prices closer and closer to the best; the best is that with the least bound."""
    below, above = PricedGroups.at_price(groups, 0.0), None
    yield below
    if below.weight <= groups.room or below.bound == inf:
        return
    price, reach = float(np.median(groups.ratios)), 0.002
    steepest = STEEPEST * float(groups.ratios.max())
    for _ in range(STEPS):
        tried = PricedGroups.at_price(groups, price)
        yield tried
        if tried.bound == inf:
            return
        if tried.weight > groups.room:
            below = tried
        else:
            above = tried
        if above is None:  # the best is mostly near the median: look further and further away
            price, reach = max(price, 1e-300) * (1 + reach), 4 * reach
            if price > steepest:
                return
        elif below.price == 0 and reach < 1:
            price, reach = above.price * (1 - reach), 4 * reach
        else:
            price = (below.reward - above.reward) / (below.weight - above.weight)
            meeting = above.reward + price * (groups.room - above.weight)
            least = min(below.bound, above.bound) - max(groups.slip(price), 1e-3 * groups.step)
            if not below.price < price < above.price or meeting >= least:
                return


class GroupCapsSearch:
    """Maximise the reward of `Groups`.

    The price of the capacity is sought first. At the best price, the worth of a selection falls
    short of the bound by what its groups' parts fall short of their best, and by the price of the
    room that is left. So an optimum is made of near-best parts, and those are few: they are listed
    and combined, keeping those nearest to the bound and remembering the highest bound that was
    dropped. If that is below the best selection found, this is the optimum; else the next round has
    more room.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._best: Mask | None = None
        self._value = -inf
        self._bound = inf
        self._price, self._dual = 0.0, inf
        self._steps = self._run()
        self.done = False

    @property
    def value(self) -> float | None:
        """The reward of the best selection so far; None while there is none."""
        return None if self._best is None else float(self._groups.reward(self._value))

    @property
    def exact_bound(self) -> Fraction | None:
        """What no selection exceeds; None while nothing is known."""
        step = self._groups.step
        if self._bound == inf:
            return None
        return self._groups.reward(max(self._value, step * floor(self._bound / step)))

    @property
    def bound(self) -> float | None:
        """The same, rounded up to a double."""
        return None if self.exact_bound is None else round_up(self.exact_bound)

    @property
    def proven(self) -> bool:
        """Whether the value is the optimum."""
        return self._best is not None and self._groups.reward(self._value) == self.exact_bound

    def chosen(self) -> NDArray[np.intp] | None:
        """Return the positions of the best selection so far, in order; None where there is none."""
        if self._best is None:
            return None
        return np.sort(np.append(self._groups.fixed, self._groups.positions[self._best]))

    def advance(self, seconds: float) -> bool:
        """Search on for about so many seconds; tell whether there is nothing left to do."""
        end = now() + seconds
        while not self.done:
            if next(self._steps, None) is None or self.proven:
                self.done = True
            if now() >= end:
                break
        return self.done

    def _run(self) -> Iterator[bool]:
        """Search; yield now and then."""
        groups = self._groups
        fits: float | None = None
        for priced in capacity_prices(groups):
            if priced.bound < self._bound:
                self._bound = self._dual = priced.bound
                self._price = priced.price
            if priced.weight <= groups.room and priced.bound < inf:
                fits = priced.price
            yield True
        if self._bound == inf or fits is None:
            return  # some group, or all of them together, may not be able to keep the bounds
        for choices in menu(groups, fits, 0.0, ROUNDS[-1][0]):
            yield True
            if choices is not None and choices.weight <= groups.room:
                self._keep_better(choices.base, choices.reward)
        for most, states in ROUNDS:
            choices = None
            loss = self._dual - self._value - groups.step  # of a better selection, at the most
            for step in menu(groups, self._price, loss, most):
                choices = step
                yield True
            if choices is None:
                continue
            if len(choices.choices) * states * 12 > MEMORY:
                return
            yield from self._combine_choices(choices, states)
            if self.proven:
                return

    def _keep_better(self, chosen: Mask, reward: float) -> None:
        """Keep a selection if it is better than the best so far."""
        if reward > self._value:
            self._best, self._value = chosen.copy(), reward

    def _combine_choices(self, menu: Menu, most: int) -> Iterator[bool]:
        """Combine the choices of a menu, one after the other."""
        from schedopt.solvers.dssp.selection.group_caps import kernels

        groups, price, choices = self._groups, self._price, menu.choices
        room, slip = groups.room - menu.weight, groups.slip(price)
        first = np.cumsum([0, *(choice.weights.size for choice in choices)]).astype(np.intp)
        weights, rewards = (
            np.concatenate([np.empty(0), *(choice[part] for choice in choices)]) for part in (0, 1)
        )
        ends = np.transpose(kernels.rates(first, weights, rewards)).tolist()
        if room >= 0:
            self._keep_better(menu.base, menu.reward)
        path: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        weights, rewards = np.zeros(1), np.zeros(1)
        # What is not on the menu is worth this at most.
        cut = menu.reward + price * room - menu.missing + slip
        for c, choice in enumerate(choices):
            if not weights.size:
                break
            terms, rest = (self._value - menu.reward, groups.step - slip, price), tuple(ends[c + 1])
            weights, rewards, parents, taken, reached = kernels.combine(
                (weights, rewards), choice[:2], room, rest, terms, most
            )
            best, dropped, parent, alternative = reached
            if alternative >= 0:
                chosen = menu.base.copy()
                choice.take(alternative, chosen)
                for before, states in zip(reversed(choices[:c]), reversed(path), strict=True):
                    before.take(int(states[1][parent]), chosen)
                    parent = int(states[0][parent])
                self._keep_better(chosen, menu.reward + best)
            cut = max(cut, menu.reward + dropped + slip)
            path.append((parents, taken))
            yield True
        self._bound = min(self._bound, max(cut, self._value))


PATIENCE = 10.0
"""Seconds of search before the next engine takes over; at most half of a time limit."""


def solve(model: Selection, task: EngineTask) -> Result[Selected] | Partial:
    """Solve a selection under shares of disjoint groups; hand what stays open to the next engine.

    An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    limits = task.limits
    if not task.alone:
        seconds = PATIENCE if limits.time_limit is None else min(PATIENCE, limits.time_limit / 2)
        limits = replace(limits, time_limit=seconds)
    run, search = Run(limits), GroupCapsSearch(task.reading)
    stopped, message = drive(search, run, noise=0.0)
    positions = search.chosen()
    if stopped == "optimal" and positions is None:  # it ended, and knows of none
        stopped = "completed"
    if task.alone and stopped == "completed" and positions is None:
        rest = remaining_limits(task.limits, run.began)
        return tree(model, replace(task, limits=rest))  # which says what keeps no rules, and why
    run.limits = task.limits
    columns = None if positions is None else np.zeros(model.width, dtype=np.int8)
    if columns is not None:
        columns[positions] = 1
    decided = Decided(stopped, columns, search.exact_bound, search.proven, message)
    result = conclude(model, run, decided, solver=task.name, version=version())
    done = task.alone or stopped in ("optimal", "interrupted")
    return result if done else Partial(result, search.exact_bound)
