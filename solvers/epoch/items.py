"""The items to pack: identical jobs of one size, and bundles of jobs that must stay together."""

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
    """Items that can take each other's place in any partition."""

    sizes: tuple[int, ...]  # the minima of one item's jobs, the largest first
    items: list[tuple[int, ...]]  # the positions of each item's jobs
    free: bool  # whether no side constraint mentions them

    @property
    def top(self) -> int:
        """The largest minimum of one item."""
        return self.sizes[0]

    def own(self, inequity: int) -> int:
        """Return the nodes that one item takes in the epoch that suits it best."""
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
    def jobs(self) -> int:
        """How many jobs there are."""
        return sum(len(kind.sizes) * len(kind.items) for kind in self.kinds)

    @property
    def forced(self) -> int:
        """The nodes that all items take at least, over all epochs."""
        return sum(kind.own(self.inequity) * len(kind.items) for kind in self.kinds)

    def impossible(self) -> bool:
        """Tell whether some item cannot be in any epoch, for k >= 1: then nothing is feasible.

        Where each item fits an epoch of its own, that is a partition.
        """
        too_wide = any(kind.own(self.inequity) > self.nodes for kind in self.kinds)
        return too_wide or bool(self.clash.diagonal().any())


def items(instance: Instance, rules: Iterable[Constraint]) -> Items | None:
    """Return an instance as items, None if it has side constraints of a user's own kind.

    Jobs of ``together`` constraints that share a job form one bundle.
    """
    named: list[tuple[bool, list[int]]] = []
    for rule in rules:
        if not isinstance(rule, Together | Apart):
            return None
        jobs = [instance.index[job] for job in dict.fromkeys(rule.jobs)]
        named.append((isinstance(rule, Together), jobs))
    bundle = list(range(len(instance.jobs)))

    def root(j: int) -> int:
        while bundle[j] != j:
            bundle[j] = j = bundle[bundle[j]]
        return j

    for together, jobs in named:
        for j in jobs[1:] if together else ():
            bundle[root(j)] = root(jobs[0])
    told = {root(j) for _, jobs in named for j in jobs}
    members: dict[int, list[int]] = {}
    order = np.array(instance.descending, dtype=np.intp)
    if told:
        bundled = np.array([root(j) in told for j in order.tolist()])
        for j in order[bundled].tolist():
            members.setdefault(root(j), []).append(j)
        order = order[~bundled]
    sizes = instance.minima[order]
    cuts = np.flatnonzero(np.diff(sizes)) + 1
    kinds = [
        Kind((int(instance.minima[some[0]]),), list(zip(some.tolist(), strict=True)), True)
        for some in np.split(order, cuts)
        if some.size
    ]
    kinds += [
        Kind(tuple(int(instance.minima[j]) for j in jobs), [tuple(jobs)], False)
        for jobs in members.values()
    ]
    kinds.sort(key=lambda kind: (-kind.top, kind.free))
    at = {j: i for i, kind in enumerate(kinds) if not kind.free for j in kind.items[0]}
    clash = np.zeros((len(kinds), len(kinds)), dtype=np.bool_)
    for together, jobs in named:
        for a, b in () if together else combinations(jobs, 2):
            clash[at[a], at[b]] = clash[at[b], at[a]] = True
    apart = max((len(jobs) for together, jobs in named if not together), default=1)
    return Items(instance.nodes, instance.inequity, kinds, clash, apart)


def first_fit(items: Items) -> list[list[int]]:
    """Return a partition that keeps all side constraints: the largest first, where it first fits.

    It must be possible, and k >= 1.
    """
    most = sum(len(kind.items) for kind in items.kinds)
    room, floors = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    held: list[list[int]] = []
    epochs: list[list[int]] = []
    for t, kind in enumerate(items.kinds):
        room[len(epochs) :], floors[len(epochs) :] = items.nodes, max(1, kind.top - items.inequity)
        widths = np.sum([np.maximum(size, floors) for size in kind.sizes], axis=0)
        able = iter(np.flatnonzero(widths <= room).tolist())
        e = -1
        if kind.free:  # as many at once as there is room for
            alike, done = [j for (j,) in kind.items], 0
            while done < len(alike):
                e = next(able)
                if e == len(epochs):
                    held.append([])
                    epochs.append([])
                many = min(int(room[e] // widths[e]), len(alike) - done)
                room[e] -= many * widths[e]
                held[e].append(t)
                epochs[e] += alike[done : done + many]
                done += many
            continue
        for jobs in kind.items:  # what has not fitted one does not fit the next, which is alike
            while e < 0 or room[e] < widths[e] or _clashes(items, t, held, e):
                e = next(able)
            if e == len(epochs):
                held.append([])
                epochs.append([])
            room[e] -= widths[e]
            held[e].append(t)
            epochs[e] += jobs
    return epochs


def _clashes(items: Items, t: int, held: list[list[int]], e: int) -> bool:
    """Tell whether an epoch holds a kind that may not share it; a new one holds none."""
    return e < len(held) and not items.kinds[t].free and bool(items.clash[t, held[e]].any())
