"""Items to pack: identical jobs of one size, and bundles of jobs that must stay together."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Apart, Constraint, Together
from schedopt.instances.epoch import Instance

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Kind:
    """Interchangeable items: jobs of one size, or a bundle of jobs in a side constraint."""

    sizes: tuple[int, ...]  # the minima of one item's jobs, the largest first
    jobs: list[int]  # the positions of all jobs
    free: bool  # whether no side constraint mentions them: then each job is an item

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self.jobs) if self.free else 1

    @property
    def top(self) -> int:
        """The largest minimum of one item."""
        return self.sizes[0]

    def best_width(self, inequity: int) -> int:
        """Return the nodes of an item in its best epoch."""
        return sum(max(size, self.top - inequity) for size in self.sizes)


@dataclass(frozen=True)
class Items:
    """An instance with its side constraints, as kinds of items."""

    nodes: int
    inequity: int
    # by non-increasing top; those that side constraints mention come first on ties
    kinds: list[Kind]
    clash: Bools  # which may not share an epoch, (kinds, kinds)
    apart: int  # the most items of one constraint of which no two may share an epoch

    @property
    def least_nodes(self) -> int:
        """The least total number of nodes of all items."""
        return sum(kind.best_width(self.inequity) * kind.count for kind in self.kinds)

    def impossible(self) -> bool:
        """Whether some item fits in no epoch (for k >= 1), so that the instance is infeasible.

        Otherwise one epoch for each item is a partition.
        """
        too_wide = any(kind.best_width(self.inequity) > self.nodes for kind in self.kinds)
        return too_wide or bool(self.clash.diagonal().any())


def items(instance: Instance, rules: Iterable[Constraint]) -> Items:
    """Return the items of an instance; constraint kinds of the user are ignored.

    Jobs of ``together`` constraints with a common job form one bundle.
    """
    named = [
        (isinstance(rule, Together), [instance.index[job] for job in dict.fromkeys(rule.jobs)])
        for rule in rules
        if isinstance(rule, Together | Apart)
    ]
    bundle = list(range(len(instance.jobs)))

    def root(j: int) -> int:
        while bundle[j] != j:
            bundle[j] = j = bundle[bundle[j]]
        return j

    for together, jobs in named:
        for j in jobs[1:] if together else ():
            bundle[root(j)] = root(jobs[0])
    ruled = {root(j) for _, jobs in named for j in jobs}
    members: dict[int, list[int]] = {}
    order = np.array(instance.descending, dtype=np.intp)
    if ruled:
        bundled = np.array([root(j) in ruled for j in order.tolist()])
        for j in order[bundled].tolist():
            members.setdefault(root(j), []).append(j)
        order = order[~bundled]
    sizes = instance.minima[order]
    cuts = np.flatnonzero(np.diff(sizes)) + 1
    kinds = [
        Kind((int(instance.minima[some[0]]),), some.tolist(), True)
        for some in np.split(order, cuts)
        if some.size
    ]
    kinds += [Kind(tuple(instance.minima[jobs].tolist()), jobs, False) for jobs in members.values()]
    kinds.sort(key=lambda kind: (-kind.top, kind.free))
    at = {j: i for i, kind in enumerate(kinds) if not kind.free for j in kind.jobs}
    clash = np.zeros((len(kinds), len(kinds)), dtype=np.bool_)
    for together, jobs in named:
        for a, b in () if together else combinations(jobs, 2):
            clash[at[a], at[b]] = clash[at[b], at[a]] = True
    apart = max((len(jobs) for together, jobs in named if not together), default=1)
    return Items(instance.nodes, instance.inequity, kinds, clash, apart)


def first_fit(items: Items) -> list[list[int]]:
    """Return a feasible partition by first fit decreasing.

    The instance must be feasible, with k >= 1.
    """
    epochs: list[list[int]] = []
    kinds_in: list[list[int]] = []
    rooms: list[int] = []
    floors: list[int] = []
    for t, kind in enumerate(items.kinds):
        e = 0  # of equal items, the next fits into no earlier epoch
        for jobs in [[j] for j in kind.jobs] if kind.free else [kind.jobs]:
            while True:
                if e == len(epochs):
                    epochs.append([])
                    kinds_in.append([])
                    rooms.append(items.nodes)
                    floors.append(max(1, kind.top - items.inequity))
                width = sum(max(size, floors[e]) for size in kind.sizes)
                if width <= rooms[e] and (kind.free or not items.clash[t, kinds_in[e]].any()):
                    break
                e += 1
            epochs[e] += jobs
            kinds_in[e].append(t)
            rooms[e] -= width
    return epochs
