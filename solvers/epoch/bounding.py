"""Items to pack, bounds on the number of epochs, and their certificates.

An item is a job, or a bundle of jobs that must stay together.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.constraints import Apart, Constraint, Together
from schedopt.instances.decimals import divisors
from schedopt.instances.epoch import Instance
from schedopt.solvers.engine import Certificate
from schedopt.solvers.result import Result

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


def start_of(instance: Instance, packed: Items) -> list[list[int]]:
    """Return a partition without search: the optimum with inequity 0, else by first fit.

    The instance must be feasible; with inequity 0 it must have no side constraints.
    """
    if instance.inequity > 0:
        return first_fit(packed)
    counts = blocks(instance.minima[instance.descending].tolist(), instance.nodes)
    ends = accumulate(counts)
    return [instance.descending[end - n : end] for n, end in zip(counts, ends, strict=True)]


def least_epochs(instance: Instance, packed: Items) -> int:
    """Return a lower bound on the number of epochs.

    The bound is the largest of: the total of the minima over N, with the nodes that bundles leave
    unused; the number of jobs of which no two may share an epoch; and the number of leaders. With
    inequity 0 it is the optimum without side constraints.
    """
    minima = instance.minima[instance.descending].tolist()
    if instance.inequity == 0:
        return max(len(blocks(minima, instance.nodes)), packed.apart)
    led = leaders(minima, instance.nodes, instance.inequity)
    return max(len(led), -(-packed.least_nodes // instance.nodes), packed.apart)


def blocks(descending: Sequence[int], nodes: int) -> list[int]:
    """Return the sizes of the fewest epochs with equal allotments, from the largest job on.

    The jobs in the epoch of the largest leader can be exchanged for larger jobs of other epochs:
    all fit, and the jobs given in exchange are smaller. So the epochs of some optimum are blocks of
    the jobs by size, and the optimum is a shortest path with steps from i to i + h, where h divides
    N and the next job fits on N/h nodes.

    Parameters
    ----------
    descending : sequence of int
        Minima, which must not increase.
    nodes : int
    """
    jobs = len(descending)
    ways = np.array(divisors(nodes)[::-1])
    distance = np.full(jobs + 1, jobs + 1, dtype=np.int64)
    last = np.zeros(jobs + 1, dtype=np.int64)
    distance[0] = 0
    for i, minimum in enumerate(descending):
        able = ways[: np.searchsorted(ways, min(jobs - i, nodes // minimum), side="right")]
        nearer = able[distance[i + able] > distance[i] + 1]
        distance[i + nearer] = distance[i] + 1
        last[i + nearer] = nearer
    counts, done = [], jobs
    while done:
        counts.append(int(last[done]))
        done -= counts[-1]
    return counts[::-1]


def leaders(descending: Sequence[int], nodes: int, inequity: int) -> list[int]:
    """Return elementwise lower bounds on the minima of the leaders of any partition.

    An epoch whose largest job has minimum v holds at most 1 + floor((N - v)/max(1, s, v - k)) jobs
    with minimum s or more; for k = 0, at most the largest h that divides N with h v <= N. This
    number decreases with v. Going through the sizes s in decreasing order, a leader of size s is
    added only if the leaders so far cannot hold all jobs of size s or more. By induction the i-th
    largest leader of any partition is at least the i-th one added here, and no partition has fewer
    leaders. Minima must not increase.
    """
    ways = divisors(nodes) if inequity == 0 else []

    def holds(leader: int, size: int) -> int:
        if inequity == 0:
            return next(h for h in ways if h * leader <= nodes)
        return 1 + (nodes - leader) // max(1, size, leader - inequity)

    least: dict[int, int] = {}  # how many of each size
    jobs = 0
    for size, count in Counter(descending).items():
        jobs += count
        room = sum(many * holds(leader, size) for leader, many in least.items())
        if room < jobs:
            least[size] = -(-(jobs - room) // holds(size, size))
    return [size for size, many in least.items() for _ in range(many)]


def least_overhead(model: Partition | Rectangles) -> int:
    """Return a lower bound on the overhead.

    For rectangles each job has the narrowest width that is possible for it, or for the largest job
    that must be together with it; and all nodes run a job at every time.
    """
    instance = model.instance
    packed, nodes = items(instance, model.rules.values()), int(instance.nodes)
    if isinstance(model, Partition):
        return nodes * least_epochs(instance, packed)
    width_of: dict[int, int] = dict(zip(instance.minima.tolist(), model.narrowest, strict=True))
    return max(nodes, sum(width_of[kind.top] * len(kind.jobs) for kind in packed.kinds))


def certificate(model: Partition | Rectangles, result: Result) -> Certificate | None:
    """Return data that prove the bound of a result again, or None.

    A bound that comes from a search has no certificate.
    """
    if result.bound is None or model.changed or isinstance(model, Rectangles):
        return None
    if not all(isinstance(rule, Together | Apart) for rule in model.rules.values()):
        return None
    instance, goal = model.instance, -(-round(result.bound) // model.instance.nodes)
    packed = items(instance, model.rules.values())
    if -(-packed.least_nodes // instance.nodes) >= goal:
        return {"kind": "nodes"}
    minima = instance.minima[instance.descending].tolist()
    led = leaders(minima, instance.nodes, instance.inequity)
    if len(led) >= goal:
        return {"kind": "leaders", "leaders": [list(pair) for pair in Counter(led).items()]}
    for name, rule in model.rules.items():
        if isinstance(rule, Apart) and len(set(rule.jobs)) >= goal:
            return {"kind": "apart", "constraint": name}
    return None
