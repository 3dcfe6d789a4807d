"""Three ways to write a partition into epochs for CP-SAT: by slots, by counts, and directly.

Each has ``model``, says which epochs an answer means (`decode`), and what values a known partition
gives its variables (`hint`); epochs are lists of positions of jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from ortools.sat.python import cp_model

from formulations.epoch.bounding import most_epochs
from formulations.epoch.patterns import Pattern
from instances.arithmetic import divisors
from instances.epoch import Instance

Epochs = list[list[int]]
Value = Callable[[Any], float]


class Shape(Protocol):
    """A partition written as a CP-SAT model."""

    name: str
    model: cp_model.CpModel

    def decode(self, value: Value) -> Epochs:
        """Return the epochs that values of the variables mean."""
        ...

    def hint(self, epochs: Epochs) -> Iterable[tuple[Any, float]]:
        """Yield a value for each variable that known epochs give one."""
        ...


class Slots:
    """Nested covering: how often each slot pattern is used, y; slots must cover the jobs.

    For each size s there are at least as many slots of s or wider as jobs of s or more; by Hall's
    theorem the jobs then have slots of their own. With k >= 1 what fits goes on fitting with fewer
    or smaller jobs, so that a covering is a partition; with k = 0 every slot must be filled.

    Parameters
    ----------
    instance : Instance
        Nodes, inequity and jobs.
    patterns : sequence of Pattern
        All maximal ones.
    within : int, optional
        Ask whether there is a partition into at most so many epochs, in place of the fewest. Then
        patterns that leave more nodes without use than all these epochs can spare drop out.
    """

    name = "slots"

    def __init__(
        self, instance: Instance, patterns: Sequence[Pattern], within: int | None = None
    ) -> None:
        self.instance = instance
        minima = instance.minima[instance.descending].tolist()
        nodes, total = instance.nodes, len(minima)
        self.sizes = sorted(set(minima), reverse=True)
        if within is not None:
            spare = within * nodes - sum(minima)
            patterns = [p for p in patterns if nodes - self._used(p) <= spare]
        self.patterns = patterns
        self._slots = np.array(
            [[sum(n for w, n in p if w >= size) for size in self.sizes] for p in patterns],
            dtype=np.int64,
        ).reshape(-1, len(self.sizes))
        needed = np.cumsum([n for _, n in sorted(Counter(minima).items(), reverse=True)])
        most = most_epochs(minima, nodes, instance.inequity)
        self.model = model = cp_model.CpModel()
        self.y = [model.new_int_var(0, most, f"y{list(p)}") for p in patterns]
        for slots, need in zip(self._slots.T.tolist(), needed.tolist(), strict=True):
            used = [(y, n) for y, n in zip(self.y, slots, strict=True) if n]
            model.add(_sum(used) >= need)
        if instance.inequity == 0:
            every = [sum(n for _, n in p) for p in patterns]
            model.add(cp_model.LinearExpr.weighted_sum(self.y, every) == total)
        if within is None:
            model.minimize(nodes * cp_model.LinearExpr.sum(self.y))
        else:
            model.add(cp_model.LinearExpr.sum(self.y) <= within)

    def _used(self, pattern: Pattern) -> int:
        """Return the largest sum of minima that a pattern has slots for."""
        return sum(n * next((s for s in self.sizes if s <= w), 0) for w, n in pattern)

    def decode(self, value: Value) -> Epochs:
        """Give the jobs, the largest first, the slots, the widest first."""
        used = [
            p for p, y in zip(self.patterns, self.y, strict=True) for _ in range(round(value(y)))
        ]
        slots = [(w, e) for e, p in enumerate(used) for w, n in p for _ in range(n)]
        slots.sort(key=lambda slot: -slot[0])
        epochs: Epochs = [[] for _ in used]
        for j, (_, e) in zip(self.instance.descending, slots, strict=False):
            epochs[e].append(j)
        return [epoch for epoch in epochs if epoch]

    def hint(self, epochs: Epochs) -> Iterator[tuple[Any, float]]:
        """Count for each epoch the first pattern that has slots for its jobs."""
        times: Counter[int] = Counter()
        sizes = np.array(self.sizes)
        for epoch in epochs:
            minima = self.instance.minima[epoch]
            wanted = (minima[:, None] >= sizes).sum(axis=0)
            enough = np.all(self._slots >= wanted, axis=1)
            if self.instance.inequity == 0:
                enough &= np.array([sum(n for _, n in p) == len(epoch) for p in self.patterns])
            if enough.any():
                times[int(enough.argmax())] += 1
        for i, y in enumerate(self.y):
            yield y, float(times[i])


class Counts:
    """How many jobs of each size each epoch holds, and which sort of epoch it is.

    With k >= 1 the sort is the largest minimum v: all jobs get max(M, v - k, 1) nodes at least.
    With k = 0 it is the number of jobs h, which divides N. Sorts do not decrease from epoch to
    epoch, since their order is free.
    """

    name = "counts"

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        minima = instance.minima[instance.descending].tolist()
        nodes, k = instance.nodes, instance.inequity
        jobs = Counter(minima)
        self.sizes = list(jobs)  # the largest first
        ways = [h for h in divisors(nodes) if h <= len(minima)]
        self.sorts = ways[::-1] if k == 0 else self.sizes
        self.model = model = cp_model.CpModel()
        self.n: list[dict[int, cp_model.IntVar]] = []
        self.sort: list[dict[int, cp_model.IntVar]] = []
        before: Any = None
        for e in range(most_epochs(minima, nodes, k)):
            n = {
                s: model.new_int_var(0, min(c, nodes // s), f"n[{e},{s}]") for s, c in jobs.items()
            }
            sort = {v: model.new_bool_var(f"sort[{e},{v}]") for v in self.sorts}
            model.add_at_most_one(sort.values())
            for v, is_v in sort.items():
                self._sorted(n, v, is_v)
            model.add(sum(n.values()) == 0).only_enforce_if([x.negated() for x in sort.values()])
            # Unused epochs come last.
            rank: Any = len(sort) - sum((len(sort) - i) * x for i, x in enumerate(sort.values()))
            if before is not None:
                model.add(before <= rank)
            before = rank
            self.n.append(n)
            self.sort.append(sort)
        for size, count in jobs.items():
            model.add(sum(n[size] for n in self.n) == count)
        model.minimize(nodes * sum(x for sort in self.sort for x in sort.values()))

    def _sorted(self, n: dict[int, Any], v: int, is_v: Any) -> None:
        """State what an epoch of a sort may hold."""
        model, nodes, k = self.model, self.instance.nodes, self.instance.inequity
        widest = nodes // v if k == 0 else v
        for size, count in n.items():
            if size > widest:
                model.add(count == 0).only_enforce_if(is_v)
        if k == 0:
            model.add(sum(n.values()) == v).only_enforce_if(is_v)
        else:
            floor = max(1, v - k)
            used = sum(max(size, floor) * count for size, count in n.items() if size <= v)
            model.add(used <= nodes).only_enforce_if(is_v)
            model.add(n[v] >= 1).only_enforce_if(is_v)

    def decode(self, value: Value) -> Epochs:
        """Deal the jobs of each size out to the epochs."""
        left = {
            s: [j for j in self.instance.descending if self.instance.minima[j] == s]
            for s in self.sizes
        }
        epochs = []
        for n in self.n:
            epoch = [left[s].pop(0) for s, x in n.items() for _ in range(round(value(x)))]
            epochs += [epoch] if epoch else []
        return epochs

    def hint(self, epochs: Epochs) -> Iterator[tuple[Any, float]]:
        """Yield the counts and sorts of known epochs, where there are variables enough."""
        minima, k = self.instance.minima, self.instance.inequity
        found = [Counter(minima[epoch].tolist()) for epoch in epochs]
        marks = [len(epoch) if k == 0 else max(c) for epoch, c in zip(epochs, found, strict=True)]
        order = sorted(range(len(epochs)), key=lambda e: marks[e] if k == 0 else -marks[e])
        for e, (n, sort) in enumerate(zip(self.n, self.sort, strict=True)):
            used = e < len(order)
            for size, count in n.items():
                yield count, float(found[order[e]][size]) if used else 0.0
            for v, is_v in sort.items():
                yield is_v, float(used and marks[order[e]] == v)


class Direct:
    """Which epoch each job is in, and how many nodes it gets there: x[j, e] and A[j, e].

    An epoch has the name of its leader, the first of its jobs by size; so e stands for a job too,
    and x[e, e] says that there is such an epoch.
    """

    name = "direct"

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        order, nodes, k = instance.descending, instance.nodes, instance.inequity
        minima = instance.minima.tolist()
        self.model = model = cp_model.CpModel()
        self.x: dict[tuple[int, int], cp_model.IntVar] = {}
        self.a: dict[tuple[int, int], cp_model.IntVar] = {}
        for i, e in enumerate(order):
            self._epoch(e, order[i:], minima, nodes, k)
        for i, j in enumerate(order):
            model.add_exactly_one(self.x[j, e] for e in order[: i + 1])  # every job is in one epoch
        model.minimize(nodes * sum(self.x[e, e] for e in order))

    def _epoch(self, e: int, members: list[int], minima: list[int], nodes: int, k: int) -> None:
        """State the epoch that job e leads: its jobs share all nodes, as evenly as k asks."""
        model = self.model
        least = model.new_int_var(0, nodes, f"least[{e}]")
        for j in members:
            x = self.x[j, e] = model.new_bool_var(f"x[{j},{e}]")
            a = self.a[j, e] = model.new_int_var(0, nodes, f"A[{j},{e}]")
            model.add(a >= max(minima[j], minima[e] - k, 1) * x)
            model.add(a <= nodes * x)
            model.add_implication(x, self.x[e, e])
            model.add(a >= least).only_enforce_if(x)
            model.add(a <= least + k).only_enforce_if(x)
        model.add(sum(self.a[j, e] for j in members) == nodes * self.x[e, e])

    def decode(self, value: Value) -> Epochs:
        """Return who is where."""
        order = self.instance.descending
        mine = {
            e: [j for j in order if (j, e) in self.x and value(self.x[j, e]) > 0.5] for e in order
        }
        return [epoch for epoch in mine.values() if epoch]

    def hint(self, epochs: Epochs) -> Iterator[tuple[Any, float]]:
        """Yield who is where."""
        rank = {j: i for i, j in enumerate(self.instance.descending)}
        leader = {j: min(epoch, key=rank.__getitem__) for epoch in epochs for j in epoch}
        for (j, e), x in self.x.items():
            yield x, float(leader[j] == e)

    def shared(self, j: int, i: int) -> Iterator[tuple[Any, Any]]:
        """Yield for each epoch the literals of two jobs; 0 where a job cannot be in it."""
        for e in self.instance.descending:
            yield self.x.get((j, e), 0), self.x.get((i, e), 0)


def _sum(terms: Sequence[tuple[Any, int]]) -> Any:
    return cp_model.LinearExpr.weighted_sum([x for x, _ in terms], [n for _, n in terms])
